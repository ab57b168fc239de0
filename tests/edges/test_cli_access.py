"""`counterfoil roles` and `tokens`: their shapes, what they refuse, and who may use them."""

from pathlib import Path

import pytest

from counterfoil.cli.command import DECLARED
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.browser.application import SOURCE
from tests.edges.cli_bench import Cli, installed
from tests.edges.cli_shapes import missing


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path)


def test_a_right_is_granted_shown_and_withdrawn(cli: Cli) -> None:
    roles = cli.json("roles", "list").data
    assert missing(DECLARED["roles list"].data, roles) == []
    bound = ("--workflow", "buy", "--operation", "place_order", "--up-to", "500", "--currency", "EUR")
    granted = cli.json("roles", "grant", "buyer", "answer", *bound).data
    assert missing(DECLARED["roles grant"].data, granted) == []
    assert (granted["up_to"], granted["granted_by"]) == ({"minor": 500, "currency": "EUR"}, None)
    listed = {each["role"]: each for each in cli.json("roles", "list").data["items"]}
    assert listed["buyer"]["grants"] == [granted]
    assert "EUR" in cli("roles", "list").out
    gone = cli.json("roles", "withdraw", granted["grant_id"][:10]).data
    assert missing(DECLARED["roles withdraw"].data, gone) == []
    assert gone["withdrawn_at"] is not None
    assert cli("roles", "withdraw", granted["grant_id"]).out.startswith(granted["grant_id"])


def test_a_role_with_grants_does_only_what_they_say(cli: Cli) -> None:
    """The same review: refused by the grant, then allowed by another."""
    cli.submit("buy")
    cli.drive()
    cli.json("roles", "grant", "buyer", "answer", "--workflow", "letter")
    digest = cli.json("reviews", "show", "1").data["digest"]
    answer = ("reviews", "approve", "1", "--digest", digest, "--by", "ana")
    assert cli.refused(*answer) == (3, "not_permitted")
    assert cli.json("reviews", "show", "1").data["state"] == "open"
    cli.json("roles", "grant", "buyer", "answer", "--workflow", "buy")
    assert cli.json(*answer).data["state"] == "approved"


def test_a_named_person_is_asked_for_the_right(cli: Cli) -> None:
    (cli.folder / "s").write_text("a long secret\n")
    cli.json("people", "add", "eve", "--role", "desk", "--secret-file", "s")
    assert cli.refused("roles", "grant", "clerk", "read", "--by", "eve") == (3, "not_permitted")
    assert cli.refused("tokens", "create", "ana", "--name", "t", "--by", "eve") == (3, "not_permitted")
    assert cli.json("roles", "grant", "eve", "administer").status == 0
    assert cli.json("roles", "grant", "clerk", "read", "--by", "eve").data["granted_by"] == "eve"
    cli.submit("waits")
    assert cli.refused("runs", "cancel", "run-1", "--by", "nobody") == (4, "unknown_person")
    assert cli.json("people", "add", "zoe", "--role", "auditor", "--secret-file", "s", "--by", "eve").status == 0
    assert cli.refused("people", "revoke", "ana", "--by", "zoe") == (3, "not_permitted")
    assert cli.json("people", "revoke", "zoe", "--by", "eve").status == 0
    assert cli.refused("signals", "send", "run-1", "go", "--signal-id", "s-1", "--by", "zoe") == (3, "person_revoked")
    assert cli.json("signals", "send", "run-1", "go", "--signal-id", "s-1", "--by", "ana").status == 0
    by_eve = [act["what"] for act in cli.json("audit", "list", "--verb", "person", "--person", "eve").data["items"]]
    assert len(by_eve) == 2
    assert [act["person"] for act in cli.json("audit", "list", "--verb", "signal").data["items"]] == ["ana"]
    assert cli.json("runs", "cancel", "run-1").status == 0  # whoever may write the file


def test_who_asks_the_receiver_is_asked_for_the_right_and_recorded(tmp_path: Path) -> None:
    cli = installed(tmp_path, app=SOURCE)
    (cli.folder / "s").write_text("a long secret\n")
    cli.json("people", "add", "vera", "--role", "auditor", "--secret-file", "s")
    with SandboxProcess("lookup") as parcels:
        cli.environ["PARCELS_URL"] = parcels.url
        cli.submit("parcel")
        cli.drive()
        before = cli.json("operations", "show", "op-1").data["version"]
        assert cli.refused("operations", "lookup", "op-1", "--by", "vera") == (3, "not_permitted")
        assert cli.refused("operations", "lookup", "op-1", "--by", "ghost") == (4, "unknown_person")
        assert cli.json("operations", "show", "op-1").data["version"] == before
        assert cli.json("operations", "lookup", "op-1", "--by", "ana").status == 0
    acts = [(act["person"], act["what"]) for act in cli.json("audit", "list", "--verb", "looked_up").data["items"]]
    assert acts == [("ana", "looked up send_parcel: match")]


def test_refusals_of_grants(cli: Cli) -> None:
    assert cli.refused("roles", "grant", "buyer", "fly") == (2, "usage")
    assert cli.refused("roles", "grant", "buyer", "answer", "--up-to", "5") == (2, "usage")
    assert cli.refused("roles", "grant", "buyer", "read", "--kind", "odd") == (2, "usage")
    assert cli.refused("roles", "withdraw", "gra_nothing") == (4, "not_found")


def test_a_token_is_created_listed_and_revoked(cli: Cli) -> None:
    scope = ("--verb", "submit", "--verb", "read", "--workflow", "buy", "--operation", "place_order")
    made = cli.json("tokens", "create", "ana", "--name", "nightly", "--days", "30", *scope).data
    assert missing(DECLARED["tokens create"].data, made) == []
    assert made["scope"] == {"verbs": ["read", "submit"], "workflows": ["buy"], "operations": ["place_order"]}
    text = made.pop("token")
    listed = cli.json("tokens", "list", "--person", "ana").data
    assert missing(DECLARED["tokens list"].data, listed) == []
    assert listed["items"] == [made]
    assert cli.json("tokens", "list", "--person", "oscar").data["items"] == []
    assert text not in cli("tokens", "list").out
    assert cli("tokens", "create", "ana", "--name", "another").out.count("cft_") == 1
    gone = cli.json("tokens", "revoke", made["token_id"]).data
    assert missing(DECLARED["tokens revoke"].data, gone) == []
    assert gone["revoked_at"] is not None
    assert "revoked_at" in cli("tokens", "revoke", made["token_id"]).out


def test_refusals_of_tokens(cli: Cli) -> None:
    assert cli.refused("tokens", "create", "ghost", "--name", "t") == (4, "unknown_person")
    assert cli.refused("tokens", "create", "ana", "--name", " ") == (2, "usage")
    assert cli.refused("tokens", "create", "ana", "--name", "t", "--days", "0") == (2, "usage")
    assert cli.refused("tokens", "create", "ana", "--name", "t", "--days", "999") == (2, "usage")
    assert cli.refused("tokens", "create", "ana", "--name", "t", "--verb", "fly") == (2, "usage")
    assert cli.refused("tokens", "revoke", "tok_nothing") == (4, "not_found")
