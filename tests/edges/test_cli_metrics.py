"""`counterfoil metrics`, the log and the collector, over real processes."""

import json
import signal
from pathlib import Path

import pytest

from counterfoil.cli.command import DECLARED
from counterfoil.model.metrics import METRICS
from tests.docs.pages import code_in, section, tables
from tests.edges.cli_bench import Cli, installed, order
from tests.edges.cli_shapes import missing
from tests.edges.test_cli_processes import WAIT, environment, run, start
from tests.engine.collector import collecting


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path)


def test_the_answer_the_help_text_and_the_page_are_equal(cli: Cli) -> None:
    from counterfoil.app import App
    from counterfoil.app.metrics import exposition

    ended = cli.json("metrics")
    assert ended.document["schema"] == "metrics/1" and missing(DECLARED["metrics"].data, ended.data) == []
    said = [(item["name"], item["definition"], item["does_not_count"]) for item in ended.data["items"]]
    assert said == [(metric.full_name, metric.definition, metric.does_not_count) for metric in METRICS]
    page = tables(section("docs/metrics.md", "Every metric"))[0][1:]
    assert said == [(code_in(row[0])[0], row[4], row[5]) for row in page]
    assert [(each["kind"], each["unit"]) for each in ended.data["items"]] == [tuple(row[1].split(", ")) for row in page]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cli.folder)
        for name, value in cli.environ.items():
            patch.setenv(name, value)
        app = App("looking")
        body, _ = exposition(app)
        app.close()
    for name, definition, does_not_count in said:
        assert f"# HELP {name} {definition} Not counted: {does_not_count}\n".encode() in body
    assert "counterfoil_operations_unresolved" in cli("metrics").out


def test_it_counts_what_other_processes_did(cli: Cli) -> None:
    """Nothing is counted by the command itself: looking twice says the same."""
    cli.submit("broken")
    cli.drive()
    for _ in range(2):
        items = {item["name"]: item["values"] for item in cli.json("metrics").data["items"]}
        assert [value["value"] for value in items["counterfoil_steps_total"]] == [1]
        parked = {value["labels"]["reason"]: value["value"] for value in items["counterfoil_runs_parked"]}
        assert parked["step_failed"] == 1 and sum(parked.values()) == 1
    cli.json("runs", "cancel", "run-1", "--by", "ana", "--reason", "not needed")
    cli.drive()
    items = {item["name"]: item["values"] for item in cli.json("metrics").data["items"]}
    assert sum(value["value"] for value in items["counterfoil_runs_parked"]) == 0
    (answered,) = items["counterfoil_intervention_seconds"]
    assert (answered["labels"], answered["histogram"]["count"]) == ({"reason": "step_failed"}, 1)


def test_a_worker_logs_in_json_and_tells_a_collector(cli: Cli) -> None:
    with collecting() as collector:
        env = environment(cli, COUNTERFOIL_LOG="json", COUNTERFOIL_OTEL=collector.url)
        worker = start(cli, "worker", env=env)
        assert worker.stderr is not None
        lines: list[bytes] = []
        cli.json("submit", "raises", "--input", "-", "--request-id", "r", stdin=order("planted-number"))
        while b'"kind": "finished"' not in (lines[-1] if lines else b""):
            lines.append(worker.stderr.readline())
            assert lines[-1], b"".join(lines)
        worker.send_signal(signal.SIGTERM)
        rest = worker.communicate(timeout=WAIT)[1].splitlines()
    assert worker.returncode == 0
    told = [json.loads(line) for line in [*lines, *rest] if line.startswith(b"{")]
    assert [line["kind"] for line in told] == ["started", "finished"]
    assert all({"run", "operation", "case", "worker"} <= set(line) for line in told)
    assert b"planted-number" not in b"".join([*lines, *rest])
    assert sorted(span.name for span in collector.spans) == ["run raises", "worker"]
    assert collector.metrics and list(collector.metrics[-1]) == [metric.full_name for metric in METRICS]


def test_a_log_that_does_not_exist_is_refused(cli: Cli) -> None:
    status, out, _ = run(cli, "runs", "list", "--json", env=environment(cli, COUNTERFOIL_LOG="xml"))
    assert status == 2 and json.loads(out)["error"]["code"] == "usage"
