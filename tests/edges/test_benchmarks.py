"""The benchmarks run, their document has the fixed fields, and a step costs no more than it may. No time is judged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.counting import per_step
from benchmarks.suites import SUITES
from benchmarks.tables import BEGIN, END

ROOT = Path(__file__).parent.parent.parent
ROW = {
    "suite", "system", "version", "backend", "durability", "concurrency", "metric", "unit", "median", "min", "max",
    "commits_per_step", "flushes_per_step", "statements_per_step", "bytes_per_step",
}  # fmt: skip


def benchmarks(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", *arguments, "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    document = json.loads(ended.stdout)
    assert document["ok"] is True and document["schema"] == "benchmarks/1"
    return document["data"]


def test_a_step_alone_costs_one_commit_one_flush_and_few_statements() -> None:
    counted = benchmarks("--count")
    assert set(counted) == {"statements", "commits", "flushes", "bytes"}
    # begin, installation, run; entry, head, installation; commit.
    assert counted["statements"] <= 7.2
    assert 1 <= counted["commits"] <= 1.02
    assert 1 <= counted["flushes"] <= 1.05
    assert 200 < counted["bytes"] <= 520  # a result of 200 bytes, its digests, its place in two indexes


def test_runs_at_once_share_commits_and_flushes() -> None:
    counted = per_step(16, steps=20)
    assert 1 / 16 <= counted.commits <= 1.5 / 16
    assert 1 / 16 <= counted.flushes <= 1.5 / 16
    assert counted.statements <= 1.0
    assert counted.bytes <= 520


def test_a_tiny_run_of_every_suite_gives_the_fixed_fields(tmp_path: Path) -> None:
    out, page = tmp_path / "out.json", tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    data = benchmarks(
        "--scale", "0.01", "--rounds", "1", "--peers", "dbos,langgraph", "--out", str(out), "--into", str(page)
    )
    assert set(data) == {"machine", "rows", "ratios", "observer", "not_run"}
    assert {row["suite"] for row in data["rows"]} == set(SUITES)
    assert all(set(row) == ROW for row in data["rows"])
    assert {row["system"] for row in data["rows"]} == {"counterfoil", "plain_loop", "pydantic_ai"}
    assert all(set(ratio) == {"name", "value", "target", "met"} for ratio in data["ratios"])
    assert data["observer"]["stored"] >= data["observer"]["acknowledged"] >= 100
    assert [each["system"] for each in data["not_run"]] == ["dbos", "langgraph"]
    assert json.loads(out.read_text())["data"] == data
    names = [ratio["name"] for ratio in data["ratios"]]
    assert {"steps_256_to_plain_loop", "steps_256_processes_to_plain_loop"} <= set(names)
    first, *_, last = page.read_text().splitlines()
    assert (first, last) == ("before", "after") and "old" not in page.read_text()
    assert all(f"| {name} |" in page.read_text() for name in names)


def test_the_page_can_be_written_anew() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert page.index(BEGIN) < page.index("steps_256_to_plain_loop") < page.index(END)


def test_a_tiny_run_from_one_worker_to_two_fills_every_table() -> None:
    command = [sys.executable, "-m", "benchmarks.scale", "--ours", "--scale", "0.005", "--rounds", "1", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=170, check=False)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document["ok"] is True and document["schema"] == "benchmarks_scale/1"
    data = document["data"]
    systems = ["counterfoil on SQLite", "counterfoil on PostgreSQL"]
    assert list(data["rates"]) == list(data["first_ms"]) == list(data["tenth_ms"]) == systems
    assert [list(counted) for counted in data["rates"].values()] == [["1"], ["1", "2"]]
    assert all(value > 0 for counted in data["rates"].values() for values in counted.values() for value in values)
    assert list(data["claim_ms"]) == ["0", "500", "5000"] and min(data["claim_ms"].values()) > 0
    assert min(data["after_death_s"].values()) > 0
    assert all(cost["commits"] > 0 < cost["log_bytes"] and cost["connections"] > 0 for cost in data["costs"])
