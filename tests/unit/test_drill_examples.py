"""The script behind `make drills`: on files or on a server, each with figures and a page of its own."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "drill_examples.py"


class Done:
    """What a drill has printed."""

    def __init__(self, backend: str) -> None:
        summary = {"cases": 1, "passed": 1, "failed": 0, "not_applicable": 0, "not_run": 0, "seconds": 1}
        report = {"target": "t", "backend": backend, "cases": [], "summary": summary, "kept": None}
        self.returncode = 0
        self.stdout = json.dumps({"data": report}).encode()


@pytest.mark.parametrize(("options", "backend"), [([], "sqlite"), (["--db", "postgresql://here/db"], "postgres")])
def test_reports_of_both_backends_lie_beside_one_another(
    options: list[str], backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Done:
        asked.append(command)
        return Done("postgres" if "--db" in command else "sqlite")

    script = runpy.run_path(str(SCRIPT))
    played = script["played"]
    figures = tmp_path / "figures.json"
    figures.write_text(json.dumps({"refund": {"kept": "as it was"}, "refund-postgres": {"kept": "as it was"}}))
    monkeypatch.setitem(played.__globals__, "FIGURES", figures)
    monkeypatch.setattr(script["subprocess"], "run", run)
    with script["server_of"](dict(zip(options[::2], options[1::2], strict=True)).get("--db")) as where:
        assert played("refund", 2, where, None) == 0
        assert played("refund", 2, where, "named") == 0
    written = json.loads(figures.read_text())
    name, other = ("refund", "refund-postgres") if backend == "sqlite" else ("refund-postgres", "refund")
    assert list(written) == ["refund", "refund-postgres"]
    assert (written[name]["backend"], written[other]) == (backend, {"kept": "as it was"})
    assert all(command[-2:] != ["--db", ""] and ("--db" in command) is (backend == "postgres") for command in asked)
    assert str(script["KEPT"] / f"{name}.html") in asked[1]
    assert len(asked) == 3 and "--html" not in asked[2], "a part writes nothing"
