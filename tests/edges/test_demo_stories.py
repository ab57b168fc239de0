"""The whole demo as a command: three stories, one JSON document, and what else a user may type."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS
from counterfoil.testing.loopback.digest import digest_of
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges import stories

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()", "demo"]


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with stories.apart(tmp_path_factory.mktemp("state")):
        yield


def demo(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command with nothing on standard input."""
    environment = {**os.environ, **more}
    return subprocess.run(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110, env=environment
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ended = demo("--json", "--keep", str(tmp_path_factory.mktemp("kept")))
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert (answer["ok"], answer["schema"]) == (True, "demo/1")
    assert "\x1b" not in ended.stderr, "no colour where there is no terminal"
    assert "What is on record" in ended.stderr
    return answer["data"]


def test_the_shape(whole: Any) -> None:
    assert whole.keys() == {"stories", "paths"}
    names = {
        "name",
        "engine",
        "receiver_kind",
        "crash",
        "recovery",
        "run",
        "operation",
        "resubmitted",
        "receiver",
        "model",
        "outcome",
    }
    for story in whole["stories"]:
        assert story.keys() == names
        assert story["engine"] == "embedded"
        assert story["recovery"].keys() == {"pid", "case", "how"}
        assert story["receiver"].keys() == {"records", "record_ids", "requests", "records_file"}
        assert story["model"].keys() == {"requests", "decisions", "lost", "next_answer_digest"}
        stories.check_found_again(story)
    stories.check_record(whole)


def test_the_first_story(whole: Any) -> None:
    story = whole["stories"][0]
    stories.check_killed(story, "operation.replied")
    stories.check_once(story)
    stories.check_decided_once(story)
    assert (story["recovery"]["how"], story["recovery"]["case"]) == ("repeat", "R")
    assert story["operation"]["approval"]["reviewer"] == "ana"
    first, second = story["operation"]["attempts"]
    assert (first["answer"]["status"], second["answer"]["status"]) == (None, 201)
    assert story["receiver"]["requests"] == 2


def test_the_second_story(whole: Any) -> None:
    story = whole["stories"][1]
    stories.check_killed(story, "operation.replied")
    stories.check_doubt(story)
    stories.check_decided_once(story)
    assert (story["receiver_kind"], story["receiver"]["records"], story["receiver"]["requests"]) == ("none", 1, 1)


def test_the_third_story(whole: Any) -> None:
    story = whole["stories"][2]
    run = story["run"]
    assert (story["operation"], story["crash"], story["outcome"], story["receiver"]["records"]) == (
        None,
        None,
        "unresolved",
        0,
    )
    assert (run["state"], run["reason"], run["owner"]) == ("parked", "budget_attempts", "onboarding-lead")
    kept = [entry["kind"] for entry in run["records"]["execution_state"]["entries"]]
    assert kept.count("try_failed") == 5
    assert kept[-1] == "parked", "nothing went on by itself"
    assert [each["what"] for each in run["established"]] == [
        "step read_documents has a result",
        "step extract_facts has a result",
    ]
    assert run["next_action"]["command"].startswith("counterfoil runs resume run-3 --raise attempts=")


def test_the_doubt_is_resolved_by_the_printed_command(whole: Any, tmp_path: Path) -> None:
    evidence = tmp_path / "letter.txt"
    evidence.write_text("The CRM's own list shows case-814.")
    printed = whole["stories"][1]["run"]["next_action"]["command"].split()[1:]
    more = ["--reference", "case-814", "--reason", "It is in the CRM's list.", "--evidence", str(evidence), "--json"]
    typed = subprocess.run(
        [*COMMAND[:-1], *printed, *more], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path
    )
    assert typed.returncode == 0, typed.stdout
    assert json.loads(typed.stdout)["data"]["status"] == "succeeded"


def test_another_folder_and_another_process_as_receiver(tmp_path: Path) -> None:
    folder = tmp_path / "birch"
    folder.mkdir()
    (folder / "profile.md").write_text("Company: Birch Trading Ltd\nCustomer: birch\n")
    with SandboxProcess("key") as crm:
        ended = demo("--json", "--input", str(folder), "--receiver-url", crm.url, "--keep", str(tmp_path / "kept"))
        assert ended.returncode == 0, ended.stderr
        (story,) = json.loads(ended.stdout)["data"]["stories"]
        (record,) = crm.records()
    stories.check_killed(story, "operation.replied")
    stories.check_decided_once(story)
    assert story["operation"]["business_key"] == "birch"
    assert story["receiver"] == {"records": 1, "record_ids": [record["id"]], "requests": 2, "records_file": None}
    assert record["payload_digest"] == story["operation"]["payload_digest"]
    assert story["outcome"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["--crash-at", "no.such.boundary"], 2, "unknown_boundary"),
        (["--input", "/no/such/folder"], 2, "usage"),
        (["--receiver-url", "ftp://crm"], 2, "usage"),
        (["--keep", str(SAMPLE_FOLDERS)], 2, "usage"),
        (["refund", "--fault", "hang"], 2, "usage"),
    ],
)
def test_what_is_refused_at_once(words: list[str], status: int, code: str) -> None:
    ended = demo(*words, "--json")
    assert ended.returncode == status
    assert json.loads(ended.stdout)["error"]["code"] == code
    assert "Traceback" not in ended.stderr


def test_the_refund_without_its_server_names_the_command_that_installs_it() -> None:
    ended = demo("refund", "--json", PATH="/nowhere")
    assert ended.returncode == 6
    error = json.loads(ended.stdout)["error"]
    assert error["code"] == "tool_missing"
    assert "npm install stripe-stateful-mock" in error["safe_next"]


def test_the_sample_documents_are_what_is_approved(whole: Any) -> None:
    story = whole["stories"][0]
    line = Path(story["receiver"]["records_file"]).read_text()
    sent = json.loads(line)["payload"]
    assert (sent["customer"], sent["company"]) == ("acme", "Acme Logistics GmbH")
    assert digest_of(sent) == story["operation"]["approval"]["digest"]
