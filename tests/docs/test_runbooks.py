"""Each reason for a park and each alert has its page; what the rules and the board name is there; the rules fire when they must."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from counterfoil.cli.command import DECLARED
from counterfoil.cli.tree import command
from counterfoil.model.metrics import METRICS, MetricKind
from counterfoil.model.run import ParkReason

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks"
RULES: list[dict[str, Any]] = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
ALERTS = {rule["alert"] for rule in RULES}


def series() -> set[str]:
    """The names under which Prometheus stores our metrics."""
    names = {metric.full_name for metric in METRICS}
    return names | {
        f"{m.full_name}_{end}" for m in METRICS if m.kind is MetricKind.HISTOGRAM for end in ("bucket", "sum", "count")
    }


def test_there_is_a_page_for_every_reason_and_every_alert_and_no_other() -> None:
    pages = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == {reason.value for reason in ParkReason} | ALERTS


def test_the_first_page_leads_to_all() -> None:
    text = (RUNBOOKS / "README.md").read_text()
    assert all(f"({name}.md)" in text for name in {reason.value for reason in ParkReason} | ALERTS)


@pytest.mark.parametrize("page", sorted(RUNBOOKS.glob("[a-zC]*.md")), ids=lambda page: page.stem)
def test_a_page_says_what_is_certain_where_to_look_and_what_to_do(page: Path) -> None:
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n")
    for part in ("**Certain.** ", "## Look\n", "## Do\n", "## Do not\n"):
        assert part in text, part


def test_every_command_on_the_pages_exists() -> None:
    command()
    known = {words.split(" ", 1)[0] for words in DECLARED} | set(DECLARED)
    for page in RUNBOOKS.glob("*.md"):
        for typed in re.findall(r"`counterfoil ([a-z]+)(?: ([a-z-]+))?", page.read_text()):
            words = " ".join(word for word in typed if word)
            assert words in known or typed[0] in DECLARED, f"{page.name}: counterfoil {words}"


def test_rules_name_their_page_and_metrics_that_are_there() -> None:
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/runbooks/{rule['alert']}.md"
        named = set(re.findall(r"counterfoil_\w+", rule["expr"]))
        assert named <= series(), rule["alert"]
        assert named or rule["alert"] == "CounterfoilDown"


def test_the_board_draws_every_metric_and_no_other() -> None:
    board = json.loads((ROOT / "deploy/grafana/counterfoil.json").read_text())
    drawn = {
        n for panel in board["panels"] for t in panel["targets"] for n in re.findall(r"counterfoil_\w+", t["expr"])
    }
    assert drawn <= series()
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in drawn} == {metric.full_name for metric in METRICS}


def test_the_rules_fire_when_they_must_and_not_before() -> None:
    promtool = shutil.which("promtool")
    assert promtool is not None, "Debian's package prometheus brings promtool"
    for arguments in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        ended = subprocess.run(
            [promtool, *arguments], cwd=ROOT / "deploy/prometheus", capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_unit_keeps_the_approval_key_from_the_workers() -> None:
    units = {path.stem: path.read_text() for path in (ROOT / "deploy/systemd").glob("*.service")}
    key = re.search(r"COUNTERFOIL_APPROVAL_KEY=(\S+)", units["counterfoil-console"])
    assert key is not None and f"InaccessiblePaths={key[1]}" in units["counterfoil-worker"]
    assert "APPROVAL_KEY" not in units["counterfoil-worker"]
