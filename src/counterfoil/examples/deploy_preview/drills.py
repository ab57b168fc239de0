"""What is played when the preview is drilled, with the marker and without: tests/drills/test_deploy_preview.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterfoil.connectors import github
from counterfoil.connectors.drilled.github import HEAD, REPOSITORY, Comments
from counterfoil.connectors.drilling import Case, Drill, Play, as_usual, reply_lost
from counterfoil.connectors.serving import PLANTED, SandboxServed
from counterfoil.examples.deploy_preview import app as marked
from counterfoil.examples.deploy_preview import unmarked

PREVIEW_SAVED, COMMENT_SAVED = "before:operation.classified", "before:operation.classified#2"


class PreviewsAndPulls(SandboxServed):
    """Both receivers: faults are armed for the comment. Each case is about a pull request of its own."""

    def __init__(self, folder: Path) -> None:
        for name in ("previews", "github"):
            (folder / name).mkdir()
        super().__init__(folder / "github", github.comment_contract(), dialect=Comments())
        self._previews = SandboxServed(folder / "previews", marked.PREVIEWS, kept={"client_id": True})
        self.environ: Mapping[str, str] = {
            "PREVIEWS_URL": self._previews.url,
            "GITHUB_URL": self.url,
            "GITHUB_TOKEN": PLANTED,
        }
        self.counted: list[tuple[int, int]] = []  # (previews, comments) of each case
        self._pull = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """A push to it."""
        del number
        self.disarm()
        self._pull += 1
        return {"repository": REPOSITORY, "pull": self._pull, "commit": f"{self._pull:08x}{HEAD[8:]}"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The more of its previews and its comments."""
        place = f"/repos/{payload['repository']}/issues/{payload['pull']}/comments"
        previews = sum(1 for each in self._previews.held() if each["commit"] == payload["commit"])
        self.counted.append((previews, sum(1 for each in self.store if each.path == place)))
        return max(self.counted[-1])

    def close(self) -> None:
        """End both."""
        super().close()
        self._previews.close()


async def killed_after_the_preview(play: Play) -> None:
    """The preview is there, and nothing of that is on record."""
    await play.drive(crash_at=PREVIEW_SAVED)
    await play.drive()


async def killed_after_the_comment(play: Play) -> None:
    """The comment is there, and nothing of that is on record."""
    await play.drive(crash_at=COMMENT_SAVED)
    await play.drive()


CASES = [
    Case("as-usual", "succeeded", as_usual, attempts=2),
    Case("killed-after-the-preview", "succeeded", killed_after_the_preview),
    Case("killed-after-the-comment", "succeeded", killed_after_the_comment, attempts=2),
    Case("comment-reply-lost", "succeeded", reply_lost, attempts=2),
]


def drill_of(module: Any, cases: list[Case]) -> Drill:
    """The drill of the one application, or of the other."""
    return Drill(
        connector=module.app.name,
        entries=[github.COMMENT],
        app=module.app,
        workflow=module.deploy,
        server="two sandboxes, one speaking as GitHub",
        server_kind="sandbox",
        start=PreviewsAndPulls,
        cases=cases,
    )


with_marker = drill_of(marked, CASES)
without_marker = drill_of(unmarked, [case for case in CASES if case.name != "killed-after-the-preview"])
