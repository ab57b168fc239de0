"""Decisions from the command line: exported with what came of them, asked anew of another model, summed by what they cost."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from counterfoil.cli.command import DECLARED
from tests.edges.cli_shapes import missing
from tests.edges.decisions_bench import Shop, exported, kept, name_of

pytest.importorskip("pydantic_ai")

TEA, MUCH_TEA, LESS_TEA = ({"item": "tea", "amount": amount} for amount in (3, 9, 2))
MILK, OIL = {"item": "milk", "amount": 1}, {"item": "oil", "amount": 1}
SAID = {"run-1/3": "approved", "run-2/3": "corrected", "run-2/12": "approved", "run-3/3": "rejected", "run-4/3": "none"}
ANSWERS = dict(zip(SAID, (TEA, MUCH_TEA, LESS_TEA, MILK, OIL), strict=True))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop, None, None]:
    """One decision of each verdict; tests of this module read."""
    shop = Shop(tmp_path_factory.mktemp("shop"), *ANSWERS.values())
    try:
        shop.submit("buy", "a", "tea please")
        shop.approve()
        shop.submit("buy", "b", "much tea")
        shop.reject("--ask-revision")
        shop.drive()
        shop.approve("oscar")
        shop.submit("buy", "c", "milk")
        shop.reject()
        shop.submit("think", "d", "oil, ever so much oil\nand: {'more'} ‮ of it")
        yield shop
    finally:
        shop.close()


def test_each_decision_has_the_verdict_that_people_gave_it(stored: Shop) -> None:
    listed = stored.cli.json("decisions", "list").data
    assert missing(DECLARED["decisions list"].data, listed) == []
    assert {name_of(each): each["verdict"] for each in listed["items"]} == SAID
    corrected = next(each for each in listed["items"] if each["verdict"] == "corrected")
    by = {each["how"] or each["verdict"]: each for each in corrected["verdicts"]}
    assert (by["rejected"]["by"], by["rejected"]["comment"]) == ("ana", "too much")
    revision = next(each for each in listed["items"] if name_of(each) == "run-2/12")
    assert by["revise"]["decision_id"] == by["proposal"]["decision_id"] == revision["decision_id"]
    assert (revision["revises"], revision["verdicts"][0]["by"]) == (corrected["position"], "oscar")
    assert [each["status"] for each in revision["operations"]] == ["succeeded"]
    assert stored.cli("decisions", "list").status == 0


def test_one_decision_with_what_was_asked(stored: Shop) -> None:
    shown = stored.cli.json("decisions", "show", "run-2/3").data
    assert missing(DECLARED["decisions show"].data, shown) == []
    assert shown["input"] == {"input": {"number": "b", "wish": "much tea"}}
    assert shown["output"] == MUCH_TEA
    assert stored.cli.json("decisions", "show", shown["decision_id"]).data == shown
    assert "too much" in stored.cli("decisions", "show", "run-2/3").out
    for unknown in ("run-2/4", "run-2", "run-9/3", "nothing"):
        assert stored.cli.refused("decisions", "show", unknown) == (4, "not_found")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--verdict", "approved"), ["run-1/3", "run-2/12"]),
        (("--workflow", "think"), ["run-4/3"]),
        (("--agent", "buyer", "--limit", "2"), ["run-3/3", "run-4/3"]),
        (("--agent", "nobody"), []),
        (("--since", "2020-01-01"), list(SAID)),
        (("--since", "2999-01-01T00:00:00Z"), []),
    ],
)
def test_filters(stored: Shop, tmp_path: Path, options: tuple[str, ...], names: list[str]) -> None:
    data = exported(stored, tmp_path / "some.json", *options).data
    cases = json.loads((tmp_path / "some.json").read_text())["cases"]
    assert [case["name"] for case in cases] == names
    assert (data["cases"], data["more"]) == (len(names), "--limit" in options)
    listed = stored.cli.json("decisions", "list", *options).data
    assert sorted(name_of(each) for each in listed["items"]) == sorted(names)


def test_what_cannot_be_asked_for_is_refused(stored: Shop, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "none.yaml"))
    assert stored.cli.refused("decisions", "list", "--verdict", "good") == (2, "usage")
    assert stored.cli.refused("decisions", "export", *out, "--since", "lately") == (2, "usage")
    assert stored.cli.refused("decisions", "export", "--out", "decisions.txt") == (2, "usage")
    assert stored.cli.refused("decisions", "usage", "--by", "colour") == (2, "usage")
    (tmp_path / "none.yaml").write_text("mine")
    assert stored.cli.refused("decisions", "export", *out)[0] == 2
    assert (tmp_path / "none.yaml").read_text() == "mine"


@pytest.mark.parametrize("file", ["all.yaml", "all.yml", "all.json"])
def test_an_export_is_a_dataset_of_pydantic_evals(stored: Shop, tmp_path: Path, file: str) -> None:
    evals = pytest.importorskip("pydantic_evals", reason="requirements-evals.txt brings it")
    data = exported(stored, tmp_path / file).data
    assert data["verdicts"] == {"approved": 2, "corrected": 1, "rejected": 1, "none": 1}
    Some = evals.Dataset[dict[str, Any], Any, dict[str, Any]]
    dataset = Some.from_file(tmp_path / file)
    assert {case.name: case.expected_output for case in dataset.cases} == ANSWERS
    listed = {name_of(each): each for each in stored.cli.json("decisions", "list").data["items"]}
    assert {case.name: case.metadata for case in dataset.cases} == listed
    for case in dataset.cases:
        assert case.inputs == stored.cli.json("decisions", "show", case.name).data["input"]
    # What pydantic-evals writes of it is the same to us.
    dataset.to_file(tmp_path / "again.json")
    from counterfoil.agents.datasets import cases_in

    first, again = (cases_in((tmp_path / name).read_bytes(), name) for name in (file, "again.json"))
    assert first == again


@pytest.mark.parametrize("from_file", [False, True])
def test_a_replay_shows_what_differs_and_touches_nothing(stored: Shop, tmp_path: Path, from_file: bool) -> None:
    source = ()
    if from_file:
        exported(stored, tmp_path / "all.yaml")
        source = (str(tmp_path / "all.yaml"),)
    before, own = kept(stored), dict(stored.cli.environ)
    requests = stored.model.requests_answered()
    answers = [TEA, TEA, LESS_TEA, {"item": "cream", "amount": 1}, OIL]
    with stored.other_model(tmp_path, *answers, *answers) as other:
        words = (
            "decisions",
            "replay",
            *source,
            "--model",
            "openai-chat:gpt-4o",
            "--agent",
            "app:buyer",
            "--at-once",
            "1",
        )
        shown = stored.cli(*words)
        replayed = stored.cli.json(*words)
        asked = other.requests()
    stored.cli.environ = own
    assert kept(stored) == before
    assert (stored.model.requests_answered(), len(asked)) == (requests, 10)
    data = replayed.data
    assert missing(DECLARED["decisions replay"].data, data) == []
    assert (replayed.status, data["equal"], data["different"], data["failed"]) == (1, 3, 2, 0)
    rows = {item["name"]: item["differences"] for item in data["items"]}
    assert rows["run-2/3"] == [{"field": "amount", "what": "changed", "before": 9, "after": 3}]
    assert rows["run-3/3"] == [{"field": "item", "what": "changed", "before": "milk", "after": "cream"}]
    assert [item["verdict"] for item in data["items"]] == list(SAID.values())
    assert {each["model"] for each in asked} == {"gpt-4o"}
    assert data["now"]["requests"] == 5 and data["now"]["cost_micros"] > 0 and data["now"]["unpriced"] == 0
    assert data["saved"]["input_tokens"] == data["now"]["input_tokens"]
    assert shown.status == 1
    assert "amount 9 3" in " ".join(shown.out.split()) and "3 equal, 2 different, 0 failed" in shown.out


def test_what_may_differ_is_named(stored: Shop, tmp_path: Path) -> None:
    own = dict(stored.cli.environ)
    with stored.other_model(tmp_path, TEA):
        words = ("--model", "openai-chat:gpt-4o", "--agent", "app:buyer", "--at-once", "1", "--limit", "2")
        ended = stored.cli.json("decisions", "replay", *words, "--ignore", "item", "--ignore", "amount")
    stored.cli.environ = own
    assert (ended.status, ended.data["equal"], ended.data["different"]) == (0, 2, 0)
    assert ended.data["items"][0]["output"] == TEA


def test_a_prompt_stands_in_for_an_agent(stored: Shop, tmp_path: Path) -> None:
    """Without the agent's code the form of the answer is that of the saved one, and the instructions are those given."""
    exported(stored, tmp_path / "all.json")
    (tmp_path / "prompt.txt").write_text("Buy little.")
    own = dict(stored.cli.environ)
    stored.cli.environ["COUNTERFOIL_DB"] = str(tmp_path / "no-database.db")
    with stored.other_model(tmp_path, *ANSWERS.values()):
        words = ("decisions", "replay", str(tmp_path / "all.json"), "--model", "openai:gpt-4o", "--at-once", "1")
        assert stored.cli.refused(*words) == (2, "usage"), "neither a prompt nor an agent"
        assert stored.cli.refused(*words, "--prompt", str(tmp_path / "none.txt")) == (2, "usage")
        ended = stored.cli.json(*words, "--prompt", str(tmp_path / "prompt.txt"))
    stored.cli.environ = own
    assert (ended.status, ended.data["equal"]) == (0, 5)
    assert not (tmp_path / "no-database.db").exists()


def test_a_model_that_cannot_be_asked(stored: Shop, tmp_path: Path) -> None:
    replay = ("decisions", "replay", "--agent", "app:buyer")
    assert stored.cli.refused(*replay) == (2, "usage")
    assert stored.cli.refused(*replay, "--model", "nobody:knows") == (2, "usage")
    assert stored.cli.refused("decisions", "replay", "--model", "test", "--agent", "app:place_order") == (2, "usage")
    assert stored.cli.refused("decisions", "replay", "--model", "test", "--agent", "app:nothing") == (2, "usage")
    own = dict(stored.cli.environ)
    with stored.other_model(tmp_path) as other:
        other.fault("error-after-accept", count=20)
        ended = stored.cli.json(*replay, "--model", "openai-chat:gpt-4o", "--limit", "1")
    stored.cli.environ = own
    (item,) = ended.data["items"]
    assert (ended.status, item["status"], item["differences"]) == (1, "failed", [])
    assert "500" in item["problem"] and ended.data["now"] == {
        "requests": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros": None, "unpriced": 0,
    }  # fmt: skip


def test_nothing_to_compare_is_no_success(stored: Shop) -> None:
    ended = stored.cli.json("decisions", "replay", "--model", "test", "--agent", "app:buyer", "--of", "nobody")
    assert (ended.status, ended.data["items"]) == (1, [])
    assert [each["code"] for each in ended.document["warnings"]] == ["nothing_compared"]


def test_a_damaged_case_fails_alone(stored: Shop, tmp_path: Path) -> None:
    exported(stored, tmp_path / "all.json", "--limit", "1")
    document = json.loads((tmp_path / "all.json").read_text())
    document["cases"].append({"inputs": {"messages": [{"kind": "nothing"}]}, "expected_output": None})
    document["cases"].append({"inputs": {"messages": []}, "expected_output": {"kind": "response"}})
    (tmp_path / "all.json").write_text(json.dumps(document))
    words = ("decisions", "replay", str(tmp_path / "all.json"), "--model", "test", "--agent", "app:buyer")
    items = stored.cli.json(*words).data["items"]
    assert [each["status"] for each in items] == ["different", "failed", "failed"]
    assert stored.cli.refused(*words, "--verdict", "good") == (2, "usage")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("yaml", ("decisions", "export", "--out", "all.yaml")),
        ("pydantic_ai", ("decisions", "replay", "--model", "test")),
    ],
)
def test_the_extra_is_named_where_it_is_not_installed(stored: Shop, module: str, words: tuple[str, ...]) -> None:
    ours = [name for name in sys.modules if name.startswith(("counterfoil.agents", module))]
    with mock.patch.dict(sys.modules):
        for name in ours:
            del sys.modules[name]
        sys.modules[module] = None  # type: ignore[assignment]
        assert stored.cli.refused(*words) == (6, "tool_missing")
        assert stored.cli.json("decisions", "usage").data["total"]["decisions"] == 5


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "all.json"),
        (b"[]", "no list of cases"),
        (b'{"cases": [{"inputs": "text"}]}', "case 1 has neither"),
        (b'{"cases": [{"inputs": {"input": NaN}}]}', "JSON"),
        (b"\xff", "codec"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_a_file_that_is_no_dataset(stored: Shop, tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "all.json"
    file.write_bytes(content)
    ended = stored.cli.json("decisions", "replay", str(file), "--model", "test")
    assert (ended.status, ended.code) == (2, "malformed_dataset")
    assert problem in ended.document["error"]["message"]


def test_usage_by_what_it_is_asked_for(stored: Shop) -> None:
    by_model = stored.cli.json("decisions", "usage").data
    assert missing(DECLARED["decisions usage"].data, by_model) == []
    (line,) = by_model["items"]
    assert (line["key"], line["asked"], line["decisions"], line["requests"]) == ("openai-chat:gpt-5", 5, 5, 5)
    assert (line["lost"], line["failed"], line["open"], line["unpriced"], line["unmeasured"]) == (0, 0, 0, 0, 0)
    assert line["cost_micros"] == sum(
        each["cost_micros"] for each in stored.cli.json("decisions", "list").data["items"]
    )
    assert by_model["total"] == line | {"key": None}
    by_workflow = stored.cli.json("decisions", "usage", "--by", "workflow").data["items"]
    assert {each["key"]: each["decisions"] for each in by_workflow} == {"buy": 4, "think": 1}
    assert [each["key"] for each in stored.cli.json("decisions", "usage", "--by", "agent").data["items"]] == ["buyer"]
    some = stored.cli.json("decisions", "usage", "--by", "day", "--workflow", "think").data
    assert (some["total"]["decisions"], len(some["items"][0]["key"])) == (1, 10)
    assert "gpt-5" in stored.cli("decisions", "usage").out
