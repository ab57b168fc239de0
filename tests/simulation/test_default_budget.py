"""The default budget of `counterfoil simulate`: the same digest in two processes, every disturbance, every case of the table."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.timeout(300)
def test_the_default_budget_meets_every_fault_and_case_and_is_the_same_in_two_processes() -> None:
    command = [sys.executable, "-m", "counterfoil", "simulate", "--seed", "1", "--json"]
    played = [
        subprocess.Popen(command, env=os.environ | {"PYTHONHASHSEED": salt}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for salt in ("1", "2")
    ]  # fmt: skip
    told = [process.communicate() for process in played]
    assert [process.returncode for process in played] == [0, 0], told
    one, other = (json.loads(out)["data"] for out, _ in told)
    assert one["trace_digest"] == other["trace_digest"] and one["violations"] == []
    assert {name for name, count in one["faults"].items() if not count} == set()
    assert one["cases_missed"] == [] and one["unaccounted_runs"] == 0
    assert set(one["cases_excused"]) == {"AA"}
