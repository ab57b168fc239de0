"""A turn's decisions from the command line; inputs that are gone, calls that were lost, prices that nobody knows."""

import json
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.edges.decisions_bench import Shop, exported, kept, name_of
from tests.edges.test_cli_processes import environment, run

pytest.importorskip("pydantic_ai")

TEA, OIL = {"item": "tea", "amount": 3}, {"item": "oil", "amount": 1}
LOOKED, ORDERED = ("look_up", {"item": "tea"}), ("place_order", {"number": "k", "item": "tea", "amount": 2})
STAMPED, SAID_SO = ("stamp", {"mark": "paid"}), "Two teas are bought."


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop, None, None]:
    """One turn of an agent: a safe tool, an operation that was approved, an undeclared tool, and a text."""
    shop = Shop(tmp_path_factory.mktemp("turned"), LOOKED, ORDERED, STAMPED, SAID_SO)
    try:
        shop.submit("clerk", "k", "two teas please")
        shop.approve()
        shop.drive()
        assert (shop.cli.show()["state"], shop.ran()) == ("completed", ["look_up", "stamp"])
        yield shop
    finally:
        shop.close()


def test_each_answer_of_a_turn_is_a_decision_with_its_verdict(turned: Shop) -> None:
    listed = turned.cli.json("decisions", "list").data["items"][::-1]
    assert [each["verdict"] for each in listed] == ["none", "approved", "none", "none"]
    assert [[o["operation"] for o in each["operations"]] for each in listed] == [
        [],
        ["place_order"],
        ["clerk_tool"],
        [],
    ]
    assert {each["versions"]["prompt_version"] for each in listed} == {"3"}
    assert {each["versions"]["policy_version"] for each in listed} == {"p-9"}
    by_tool = turned.cli.json("decisions", "usage", "--by", "tool").data
    assert [(each["key"], each["decisions"]) for each in by_tool["items"]] == [
        ("look_up", 1), ("place_order", 1), ("stamp", 1), (None, 1),
    ]  # fmt: skip
    assert by_tool["total"]["cost_micros"] == sum(each["cost_micros"] for each in by_tool["items"]) > 0


def test_what_a_turn_was_asked_is_put_together_again(turned: Shop) -> None:
    named = [name_of(each) for each in turned.cli.json("decisions", "list").data["items"][::-1]]
    shown = [turned.cli.json("decisions", "show", name).data for name in named]
    assert [len(each["input"]["messages"]) for each in shown] == [1, 3, 5, 7]
    kinds = [message["parts"][0]["part_kind"] for message in shown[-1]["input"]["messages"]]
    assert kinds == ["user-prompt", *["tool-call", "tool-return"] * 3]
    assert shown[-1]["input"]["messages"][1::2] == [each["output"] for each in shown[:-1]]
    tools = {tool["name"] for tool in shown[0]["input"]["params"]["request"]["function_tools"]}
    assert tools == {"look_up", "stamp", "place_order"}
    told = turned.cli("decisions", "show", named[-1]).out
    assert "two teas please" in told and "look_up ran" in told and SAID_SO in told


@pytest.mark.parametrize("options", [(), ("--agent", "app:clerk")])
def test_a_replayed_turn_runs_no_tool_and_reaches_no_receiver(
    turned: Shop, tmp_path: Path, options: tuple[str, ...]
) -> None:
    before, own = kept(turned), dict(turned.cli.environ)
    other = ("place_order", {"number": "k", "item": "tea", "amount": 20})
    with turned.other_model(tmp_path, LOOKED, other, STAMPED, SAID_SO) as model:
        ended = turned.cli.json("decisions", "replay", "--model", "openai-chat:gpt-4o", "--at-once", "1", *options)
        assert model.requests_answered() == 4
    turned.cli.environ = own
    assert kept(turned) == before
    assert turned.ran() == ["look_up", "stamp"]
    assert (ended.status, ended.data["equal"], ended.data["different"], ended.data["failed"]) == (1, 3, 1, 0)
    (row,) = ended.data["items"][1]["differences"]
    assert row == {"field": "tool_calls[0].args.amount", "what": "changed", "before": 2, "after": 20}


def test_a_kept_input_is_read_back_and_a_missing_one_is_said(tmp_path: Path) -> None:
    shop = Shop(tmp_path, TEA, OIL)
    try:
        shop.submit("think", "long", "much ")
        shop.submit("think", "b", "little")
        first = exported(shop, tmp_path / "first.json")
        assert (first.status, first.data["missing"]) == (0, [])
        inputs = [case["inputs"]["input"] for case in json.loads((tmp_path / "first.json").read_text())["cases"]]
        assert inputs == ["much " * 20_000, "little"]
        artifacts = [path for path in (shop.cli.folder / "counterfoil.db.artifacts").rglob("*") if path.is_file()]
        assert artifacts
        for path in artifacts:
            path.unlink()
        second = exported(shop, tmp_path / "second.json")
        (lost,) = second.data["missing"]
        assert (second.status, second.data["cases"], lost["code"]) == (1, 1, "artifact_missing")
        assert lost["decision_id"] in shop.cli("decisions", "export", "--out", str(tmp_path / "third.yaml")).out
        assert shop.cli.refused("decisions", "show", "run-1/3") == (3, "artifact_missing")
        with shop.other_model(tmp_path, OIL):
            ended = shop.cli.json("decisions", "replay", "--model", "openai-chat:gpt-4o", "--agent", "app:buyer")
        assert (ended.status, ended.data["equal"], len(ended.data["missing"])) == (1, 1, 1)
    finally:
        shop.close()


def test_a_lost_call_and_a_failed_one_are_counted_and_not_measured(tmp_path: Path) -> None:
    """A worker is killed with the answer in its hands; then the model refuses a few times."""
    shop = Shop(tmp_path, OIL, TEA)
    try:
        shop.cli.environ["COUNTERFOIL_LEASE_SECONDS"] = "1"
        (tmp_path / "given.json").write_text(json.dumps({"number": "a", "wish": "tea"}))
        words = ("submit", "think", "--input", str(tmp_path / "given.json"), "--request-id", "a")
        assert shop.cli.json(*words).status in (0, 5)
        killing = environment(shop.cli, COUNTERFOIL_CRASH_AT="before:decision.accepted")
        status, _, err = run(shop.cli, "worker", "--until-idle", env=killing)
        assert status == -signal.SIGKILL, err
        (open_,) = shop.cli.json("decisions", "usage").data["items"]
        assert (open_["asked"], open_["open"], open_["decisions"], open_["cost_micros"]) == (1, 1, 0, None)
        shop.model.fault("error-after-accept", count=3)  # the provider's client asks three times before it gives up
        for _ in range(60):
            shop.drive()
            if shop.cli.json(*words, "--wait", "0.2").data["state"] == "completed":
                break
        (line,) = shop.cli.json("decisions", "usage").data["items"]
        asked = shop.cli.json("decisions", "list").data["items"][0]
    finally:
        shop.close()
    assert (line["asked"], line["decisions"], line["lost"], line["failed"], line["open"]) == (3, 1, 1, 1, 0)
    assert (line["requests"], asked["lost"], line["input_tokens"]) == (1, 1, asked["usage"]["input_tokens"])
    assert line["cost_micros"] == asked["cost_micros"] > 0


def test_a_price_that_nobody_knows_is_no_zero(tmp_path: Path) -> None:
    shop = Shop(tmp_path, OIL)
    code = shop.cli.folder / "app.py"
    try:
        code.write_text(code.read_text().replace("gpt-5", "model-of-ones-own"))
        shop.submit("think", "a", "oil")
        (line,) = shop.cli.json("decisions", "usage").data["items"]
        with shop.other_model(tmp_path, OIL):
            words = ("decisions", "replay", "--model", "openai-chat:another-of-ones-own", "--agent", "app:buyer")
            data, shown = shop.cli.json(*words).data, shop.cli(*words).out
    finally:
        shop.close()
    assert (line["decisions"], line["cost_micros"], line["unpriced"]) == (1, None, 1)
    assert (data["now"]["cost_micros"], data["now"]["unpriced"], data["equal"]) == (None, 1, 1)
    assert "- (1 unpriced)" in shown
