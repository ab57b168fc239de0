"""`receivers`: browsing, showing and checking contracts, and a probe that finds the ones that are wrong."""

import json
import tomllib
from typing import Any

import pytest

from counterfoil.cli.command import DECLARED
from counterfoil.receivers.catalogue import read_contract
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed
from tests.edges.cli_shapes import missing

HONEST = SandboxContract(saves=frozenset({"2xx", "4xx", "5xx"}), mismatch_status=422)


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return installed(tmp_path_factory.mktemp("receivers"))


def test_the_catalogue_is_browsed_shown_and_checked(cli: Cli) -> None:
    listed = cli.json("receivers", "list").data
    assert missing(DECLARED["receivers list"].data, listed) == [] and len(listed["items"]) >= 77
    assert {each["kind"] for each in cli.json("receivers", "list", "--kind", "j").data["items"]} == {"J"}
    shown = cli.json("receivers", "show", "stripe_v1").data
    assert missing(DECLARED["receivers show"].data, shown) == []
    assert [stage["ruling"] for stage in shown["plan"]][:2] == ["repeat", "look up"]
    assert any("A 409 means that the receiver is still at work" in said for said in shown["sentences"])
    checked = cli.json("receivers", "check", "--all")
    assert missing(DECLARED["receivers check"].data, checked.data) == [] and checked.status == 0
    assert not [each for each in checked.data["items"] if each["contradictions"] or each["unread_fields"]]
    for words in ("list", "show resend_email", "check --all"):
        assert cli("receivers", *words.split()).status == 0
    assert cli.refused("receivers", "show", "nobody") == (4, "not_found")
    assert cli.refused("receivers", "list", "--kind", "Z")[0] == 2


def test_what_an_account_knows_better_is_checked(cli: Cli) -> None:
    own = cli.json("receivers", "check").data["items"]
    assert {"place_order", "send_parcel"} <= {each["id"] for each in own}
    (cli.folder / "own.toml").write_text('"key.saves" = ["4xx"]\n[key]\naccount_retention = "2 days"\n')
    (cli.folder / "good.toml").write_text('"key.account_retention" = "2 days"\n')
    (cli.folder / "torn.toml").write_text("[")
    wrong = cli.json("receivers", "check", "zuora", "--overrides", str(cli.folder / "own.toml"))
    assert wrong.status == 1 and "leaves out 2xx" in wrong.data["items"][0]["contradictions"][0]
    assert cli.json("receivers", "check", "zuora", "--overrides", str(cli.folder / "good.toml")).status == 0
    assert cli.refused("receivers", "check", "zuora", "--overrides", str(cli.folder / "torn.toml"))[0] == 2
    assert cli.refused("receivers", "check", "zuora", "--all")[0] == 2
    assert cli.refused("receivers", "check", "--overrides", "own.toml")[0] == 2


def test_a_contract_for_an_api_of_ones_own_comes_from_answers(cli: Cli) -> None:
    said = [
        "key=header:Idempotency-Key",
        "key.retention=24 hours",
        "key.saves=2xx, 4xx",
        "applied=2xx",
        "refused=400,422",
    ]
    words = [word for each in said for word in ("--answer", each)]
    file = cli.folder / "own-contract.toml"
    made = cli.json("receivers", "new", *words, "--answer", "lookup.consistency=strong", "--out", str(file)).data
    assert missing(DECLARED["receivers new"].data, made) == []
    assert made["plan"][0] == "lost reply: repeat" and made["gaps"] == []
    read = read_contract(tomllib.loads(file.read_text()))
    assert read.key is not None and read.key.saves == {"2xx", "4xx"} and read.lookup is not None
    assert [question["answer"] for question in made["questions"] if question["name"] == "key.scope"] == [None]
    assert cli.refused("receivers", "new", "--out", str(file))[0] == 2, "a file of the user's is left as it is"
    empty = cli.json("receivers", "new").data
    assert empty["plan"][0] == "lost reply: ask a person: outcome_unknown" and empty["file"] is None
    assert cli("receivers", "new", "--answer", "key=body:id").status == 0


@pytest.mark.parametrize(
    "answer", ["key.retention=1 day", "key=cookie:x", "colour=red", "applied", "duplicate=cheap", "refused=abc"]
)
def test_an_answer_that_fits_no_question_is_refused(cli: Cli, answer: str) -> None:
    assert cli.refused("receivers", "new", "--answer", answer) == (2, "usage")


# --- a probe ------------------------------------------------------------------------------------------------------------


def probing(cli: Cli, sandbox: SandboxProcess, entry: str, *more: str) -> Any:
    words = [
        "receivers",
        "probe",
        sandbox.url,
        "--entry",
        entry,
        "--path",
        "/v1/cases",
        "--test-mode",
        "test-mode=true",
    ]
    return cli.json(*words, "--confirm", "127.0.0.1", "--wait", "0.4", *more)


def test_a_receiver_that_keeps_its_contract_shows_no_difference(cli: Cli) -> None:
    with SandboxProcess(HONEST) as sandbox:
        seen = probing(cli, sandbox, "zuora")
        assert missing(DECLARED["receivers probe"].data, seen.data) == []
        assert (seen.status, seen.data["differences"]) == (0, [])
        assert seen.data["observed"]["other_body"] == "rejects" and seen.data["records"] == len(sandbox.records())


@pytest.mark.parametrize(
    ("entry", "kept", "found"),
    [
        ("zuora", SandboxContract(other_body="replays"), {"key.other_body": "replays"}),
        ("zuora", SandboxContract(key_window_seconds=0.2), {"key.retention": "second effect"}),
        ("zuora", SandboxContract(key_header=None), {"key": "second effect", "key.other_body": "identity"}),
        ("stripe_v1", SandboxContract(replay_marker=False), {"key.replay_marker": False}),
        ("stripe_v1", SandboxContract(lookup_lag_seconds=1.0), {"lookup.visible_within": None}),
    ],
)
def test_a_contract_that_is_wrong_is_found(cli: Cli, entry: str, kept: SandboxContract, found: dict[str, Any]) -> None:
    with SandboxProcess(kept) as sandbox:
        seen = probing(cli, sandbox, entry, "--lookup", "/v1/cases?reference={reference}")
    told = {each["attribute"]: each["observed"] for each in seen.data["differences"]}
    assert seen.status == 1 and found.keys() <= told.keys(), seen.data
    for attribute, observed in found.items():
        if observed is not None:
            assert told[attribute] == observed
    if entry == "stripe_v1":
        assert told.keys() == found.keys()


def test_nothing_is_written_without_a_confirmation_and_the_receivers_own_word(cli: Cli) -> None:
    with SandboxProcess(HONEST) as sandbox:
        words = ["receivers", "probe", sandbox.url, "--entry", "zuora", "--path", "/v1/cases"]
        assert cli.refused(*words, "--confirm", "127.0.0.1") == (2, "usage")
        marked = [*words, "--test-mode", "test-mode=true"]
        assert cli.refused(*marked) == (3, "probe_not_confirmed")
        assert cli.refused(*marked, "--confirm", "localhost") == (3, "probe_not_confirmed")
        assert cli.refused(*words, "--test-mode", "livemode=false", "--confirm", "127.0.0.1") == (
            3,
            "probe_not_test_mode",
        )
        assert cli.refused("receivers", "probe", "nowhere", "--entry", "zuora", "--test-mode", "a=b")[0] == 2
        assert sandbox.records() == []


def test_a_body_and_a_token_of_ones_own(cli: Cli) -> None:
    (cli.folder / "body.json").write_text(json.dumps({"amount": 5}))
    (cli.folder / "list.json").write_text("[]")
    with SandboxProcess(HONEST) as sandbox:
        cli.environ["PROBE_TOKEN"] = "secret"
        file = str(cli.folder / "body.json")
        assert (
            probing(cli, sandbox, "zuora", "--body", file, "--field", "amount", "--token-env", "PROBE_TOKEN").status
            == 0
        )
        words = ["receivers", "probe", sandbox.url, "--entry", "zuora", "--test-mode", "a=b", "--confirm", "127.0.0.1"]
        assert cli.refused(*words, "--body", str(cli.folder / "list.json"))[0] == 2
        assert cli.refused(*words, "--token-env", "NOT_THERE")[1] == "setting_missing"
