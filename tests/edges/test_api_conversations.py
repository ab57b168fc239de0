"""Conversations over the API and through the typed client: sent once, shown in parts, aborted, and withheld by kind."""

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from counterfoil import Client, Refused
from counterfoil.cli.shapes import SHAPES
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.conversation import Aborted, Conversation, ConversationShown, Sent, Turn
from counterfoil.client.shapes.decision import Decisions, DecisionShown, Usage
from counterfoil.client.shapes.document import DocumentVersion, WorkingDocument, WorkingDocumentShown
from tests.edges import cli_bench
from tests.edges.api_bench import House, Served, shown
from tests.edges.api_bench import shown as refusal
from tests.edges.cli_shapes import missing
from tests.edges.test_api_verbs import strictly

SOURCE = (
    cli_bench.APP
    + """
from counterfoil.model.conversation import Turn

@app.workflow(version=1, budget=BUDGET)
async def helper(run: Run, turn: Turn) -> str:
    await run.message("user", turn.text)
    if turn.text.startswith("wait"):
        await run.wait_for("go", str, within=timedelta(hours=1))
    await run.message("agent", "heard " + turn.text)
    return "heard " + turn.text

class Notes(BaseModel):
    lines: list[str] = []

notes = app.document("notes", Notes)

@app.workflow(version=1, budget=BUDGET)
async def keeper(run: Run, turn: Turn) -> int:
    return (await notes.change(run, lambda seen: Notes(lines=[*seen.lines, turn.text]))).version

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

app.agent("clerk", agent=Agent(TestModel(custom_output_text="So."), name="clerk"), budget=BUDGET)
"""
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    house = House(cli_bench.installed(tmp_path_factory.mktemp("talks"), app=SOURCE))
    house.serve("--no-worker")
    yield Served(house)
    house.stop()


def message(text: str, conversation: str, **more: Any) -> dict[str, Any]:
    return {
        "text": text,
        "conversation": conversation,
        "request_id": f"{conversation} {text}",
        "agent": "helper",
    } | more


def test_a_message_is_accepted_once(here: Served) -> None:
    first = here.post("/conversations", message("hello", "once"))
    again = here.post("/conversations", message("hello", "once"))
    assert (first.status_code, again.status_code) == (201, 200)
    strictly(Sent, first.json()["data"])
    assert (first.json()["data"]["admitted"], again.json()["data"]["admitted"]) == ("new", "existing")
    assert first.json()["data"]["run_id"] == again.json()["data"]["run_id"]
    other = here.post("/conversations", message("hello", "once") | {"text": "something else"})
    assert shown(other) == (409, "request_conflict")
    assert shown(here.post("/conversations", message("x", "once") | {"when_busy": "at once"})) == (
        422,
        "invalid_payload",
    )
    assert shown(here.post("/conversations", {"text": "x", "conversation": "new", "request_id": "n"})) == (
        404,
        "not_found",
    )
    here.house.cli.drive()
    answered = here.post("/conversations", message("hello", "once")).json()["data"]
    assert (answered["state"], answered["result"]) == ("completed", "heard hello")


def test_what_comes_meanwhile_waits_or_is_refused_and_the_turn_is_aborted(here: Served) -> None:
    run = here.post("/conversations", message("wait", "busy")).json()["data"]
    here.house.cli.drive()
    assert shown(here.post("/conversations", message("more", "busy"))) == (409, "conversation_busy")
    steer = here.post("/conversations", message("mind", "busy", when_busy="steer")).json()["data"]
    assert (steer["admitted"], steer["into"]) == ("steer", run["run_id"])
    follow = here.post("/conversations", message("then", "busy", when_busy="follow_up")).json()["data"]
    talk = here.data("/conversations/busy")
    strictly(ConversationShown, talk)
    assert (talk["at_work"]["run_id"], talk["queued"]) == (run["run_id"], 2)
    aborted = here.post("/conversations/busy/abort", {"reason": "enough", "queued": True}).json()["data"]
    strictly(Aborted, aborted)
    assert (aborted["run_id"], aborted["withdrawn"]) == (run["run_id"], [steer["run_id"], follow["run_id"]])
    here.house.cli.drive()
    assert shown(here.post("/conversations/busy/abort", {})) == (409, "nobody_at_work")


def test_a_revision_needs_an_answer_of_a_model(here: Served) -> None:
    here.post("/conversations", message("hello", "revised"))
    here.house.cli.drive()
    assert shown(here.post("/conversations/revised/revise", {"reason": "too short"})) == (409, "nothing_to_revise")
    assert shown(here.post("/conversations/revised/revise", {})) == (422, "invalid_payload")


def test_lists_and_transcripts_come_in_parts(here: Served) -> None:
    for n in range(3):
        here.post("/conversations", message(f"say {n}", "parts", when_busy="follow_up"))
    newest = here.data("/conversations/parts", limit=2)["transcript"]
    assert [turn["text"] for turn in newest["items"]] == ["say 1", "say 2"]
    before = here.data("/conversations/parts", limit=2, cursor=newest["next_cursor"])["transcript"]
    assert ([turn["text"] for turn in before["items"]], before["next_cursor"]) == (["say 0"], None)
    assert shown(here.get("/conversations", cursor=newest["next_cursor"])) == (400, "usage")
    page = here.data("/conversations", limit=1)
    strictly(Page[Conversation], page)
    assert page["items"][0]["name"] == "parts"
    assert here.data(f"/conversations/conversation-{page['items'][0]['number']}")["name"] == "parts"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("CONVERSATION", Conversation), ("TURN", Turn), ("SENT", Sent), ("WORKING_DOCUMENT", WorkingDocument),
        ("VERSION", DocumentVersion),
    ],
)  # fmt: skip
def test_the_shapes_of_the_command_line_and_of_the_api_are_the_same(name: str, model: Any) -> None:
    assert missing(SHAPES[name], dict.fromkeys(model.model_fields)) == []


def test_documents_of_the_working_context(here: Served) -> None:
    here.post("/conversations", message("tea", "kept", agent="keeper"))
    here.house.cli.drive()
    (listed,) = here.data("/documents")["items"]
    strictly(WorkingDocument, listed)
    shown = here.data(f"/documents/doc-{listed['number']}", version=1)
    strictly(WorkingDocumentShown, shown)
    assert (shown["conversation"], shown["versions"][0]["body"]) == ("kept", {"lines": ["tea"]})
    assert here.data("/conversations/kept")["documents"] == [listed]
    assert refusal(here.get("/documents/doc-9")) == (404, "not_found")

    async def typed() -> None:
        async with Client(here.url, here.headers()["Authorization"].split()[1]) as ours:
            assert [each.name async for each in ours.documents.each()] == ["notes"]
            assert (await ours.documents.list()).items[0].version == 1
            assert (await ours.documents.show("doc-1", version=1)).versions[0].written_by is not None

    asyncio.run(typed())


def test_decisions_are_listed_shown_and_summed(here: Served) -> None:
    sent = here.post("/conversations", message("well?", "asked", agent="clerk")).json()["data"]
    here.house.cli.drive()
    page = here.data("/decisions", workflow="clerk")
    strictly(Decisions, page)
    (decision,) = page["items"]
    assert (decision["run_id"], decision["conversation"], page["more"]) == (sent["run_id"], "asked", False)
    shown_ = here.data(f"/decisions/{decision['decision_id']}")
    strictly(DecisionShown, shown_)
    assert "So." in str(shown_["output"]) and "well?" in str(shown_["input"])
    usage = here.data("/decisions/usage", by="agent", conversation="asked")
    strictly(Usage, usage)
    assert (usage["items"][0]["key"], usage["total"]["decisions"]) == ("clerk", 1)
    assert here.data("/decisions", agent="nobody")["items"] == []
    assert refusal(here.get("/decisions/usage", by="moon")) == (400, "usage")
    assert refusal(here.get(f"/decisions/run-{decision['run_number']}/999")) == (404, "not_found")
    assert missing(SHAPES["DECISION"], decision) == [] == missing(SHAPES["USAGE"], usage["total"])

    async def typed() -> None:
        async with Client(here.url, here.headers()["Authorization"].split()[1]) as ours:
            assert (await ours.decisions.list(conversation="asked")).items[0].agent == "clerk"
            assert (await ours.decisions.show(decision["decision_id"])).run_id == sent["run_id"]
            assert (await ours.decisions.usage(by="model")).total.decisions >= 1

    asyncio.run(typed())


def test_the_verbs_typed(here: Served) -> None:
    async def body() -> None:
        async with Client(here.url, here.headers()["Authorization"].split()[1]) as ours:
            sent = await ours.conversations.send("wait", conversation="a/b?", request_id="typed", agent="helper")
            assert sent.admitted == "new"
            talk = await ours.conversations.show(sent.conversation_id)
            assert [turn.text for turn in talk.transcript.items] == ["wait"]
            assert sent.conversation_id in [each.conversation_id async for each in ours.conversations.each()]
            assert (await ours.conversations.list(limit=1)).items[0].at_work is not None
            aborted = await ours.conversations.abort(sent.conversation_id, reason="enough")
            assert aborted.run_id == sent.run_id
            with pytest.raises(Refused) as told:
                await ours.conversations.show("nowhere")
            assert told.value.code == "not_found"

    asyncio.run(body())


def test_what_one_may_not_read_is_null_and_named(here: Served) -> None:
    cli = here.house.cli
    cli.environ["COUNTERFOIL_SECRET"] = "what only vera knows"
    assert cli("people", "add", "vera", "--role", "speaker").status == 0
    del cli.environ["COUNTERFOIL_SECRET"]
    assert cli.json("roles", "grant", "speaker", "submit", "--workflow", "helper").status == 0
    sent = here.post("/conversations", message("secret", "hers"), "vera").json()["data"]
    assert (sent["result"], sent["withheld"]) == (None, ["payloads"])
    (turn,) = here.data("/conversations/hers", "vera")["transcript"]["items"]
    assert (turn["text"], turn["messages"], turn["withheld"]) == (None, None, ["conversation"])
    assert shown(here.post("/conversations/hers/abort", {}, "vera")) == (403, "not_permitted")
    assert shown(here.post("/conversations", message("x", "new", agent="buy"), "vera")) == (403, "not_permitted")
