"""One preview and one comment, wherever the worker dies; without the marker the drill counts two comments."""

from dataclasses import replace
from pathlib import Path

from counterfoil.connectors.drilling import Drill, Served, play_all
from counterfoil.examples.deploy_preview.drills import PreviewsAndPulls, with_marker, without_marker


def counted(drill: Drill, folder: Path) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    """(previews, comments) and the verdict of each case."""
    started: list[PreviewsAndPulls] = []

    def start(place: Path) -> Served:
        started.append(PreviewsAndPulls(place))
        return started[0]

    said = play_all(replace(drill, start=start), folder)
    names = [case["name"] for case in said["cases"]]
    return dict(zip(names, started[0].counted, strict=True)), {each["name"]: each["verdict"] for each in said["cases"]}


def test_one_preview_and_one_comment(tmp_path: Path) -> None:
    held, verdicts = counted(with_marker, tmp_path)
    assert set(held.values()) == {(1, 1)} and set(verdicts.values()) == {"pass"}
    assert "killed-after-the-comment" in held


def test_without_the_marker_the_drill_counts_two(tmp_path: Path) -> None:
    held, verdicts = counted(without_marker, tmp_path)
    assert held == {"as-usual": (1, 1), "killed-after-the-comment": (1, 2), "comment-reply-lost": (1, 2)}
    assert verdicts == {"as-usual": "pass", "killed-after-the-comment": "fail", "comment-reply-lost": "fail"}
