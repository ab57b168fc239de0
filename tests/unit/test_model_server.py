"""The local model: both protocols as Pydantic AI speaks them, a new answer every time, and the one that would come next."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import rfc8785
from pydantic import BaseModel

from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.model_server.answers import answer_to
from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.model_server.reading import Prompt

pydantic_ai = pytest.importorskip("pydantic_ai")


class Case(BaseModel):
    customer: str
    company: str
    risk: str


class Choice(BaseModel):
    amount: int
    reason: str


@pytest.fixture(scope="module")
def shared() -> Iterator[ModelServerProcess]:
    with ModelServerProcess() as process:
        yield process


@pytest.fixture
def model(shared: ModelServerProcess, monkeypatch: pytest.MonkeyPatch) -> ModelServerProcess:
    """The server, as what a plain `Agent("openai:...")` reaches."""
    for name, value in shared.environment.items():
        monkeypatch.setenv(name, value)
    return shared


def digest_of(value: object) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()  # type: ignore[arg-type]


def run_all(name: str, output: Any, *prompts: str) -> list[Any]:
    """The outputs for some prompts, asked one after the other; with the tokens of the last one checked."""
    agent = pydantic_ai.Agent(name, output_type=output, instructions="Say what you think.")

    async def ask() -> list[Any]:
        async with agent:  # Closes the connections of its provider, which would else be a warning at exit.
            results = [await agent.run(prompt) for prompt in prompts]
        assert results[-1].usage.input_tokens > 0
        assert results[-1].usage.output_tokens > 0
        return [result.output for result in results]

    return asyncio.run(ask())


PROTOCOLS = [("openai:gpt-5", "/v1/responses"), ("openai-chat:gpt-5", "/v1/chat/completions")]


@pytest.mark.parametrize(("name", "path"), PROTOCOLS)
def test_a_plain_agent_gets_another_answer_every_time(model: ModelServerProcess, name: str, path: str) -> None:
    before = model.requests_answered()
    answers = run_all(name, Case, *["# Letter\nCustomer: acme\nCompany: Acme GmbH"] * 3)
    assert {(one.customer, one.company) for one in answers} == {("acme", "Acme GmbH")}
    assert len({one.risk for one in answers}) == 3
    assert model.requests_answered() == before + 3
    logged = model.requests()[-3:]
    assert [item["path"] for item in logged] == [path] * 3
    assert [item["answer_digest"] for item in logged] == [digest_of(one.model_dump()) for one in answers]


@pytest.mark.parametrize("name", [name for name, _ in PROTOCOLS])
def test_the_answer_that_would_come_next(model: ModelServerProcess, name: str) -> None:
    prompt = "the customer wants the amount 1200 back"
    (first,) = run_all(name, Choice, prompt)
    following = model.next_answer()
    count = model.requests_answered()
    assert model.next_answer() == following, "asking does not count"
    assert following["digest"] == digest_of(following["answer"]) != digest_of(first.model_dump())
    assert model.get("")["next_answer_digest"] == following["digest"]
    assert model.requests_answered() == count
    (second,) = run_all(name, Choice, prompt)
    assert second.model_dump() == following["answer"]
    assert (first.amount, second.amount) == (1200, 1200)


@pytest.mark.parametrize("name", [name for name, _ in PROTOCOLS])
def test_other_shapes_of_output(model: ModelServerProcess, name: str) -> None:
    assert run_all(name, str, "hello")[0].startswith("This is answer ")
    assert isinstance(run_all(name, pydantic_ai.NativeOutput(Choice), "hello")[0], Choice)
    assert isinstance(run_all(name, [Case, Choice], "hello")[0], Case)
    assert isinstance(run_all(name, list[int], "hello")[0][0], int)


def test_a_lost_answer_was_counted(model: ModelServerProcess) -> None:
    before = model.requests_answered()
    model.fault("drop-reply")
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(
            model.base_url + "/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        )
    assert model.requests_answered() == before + 1


def test_there_is_no_next_answer_before_the_first_request() -> None:
    with ModelServerProcess() as fresh:
        assert fresh.next_answer() == {"tool": None, "answer": None, "digest": None}
        assert fresh.get("")["next_answer_digest"] is None
        assert fresh.close() == 0


def test_a_script_is_used_up_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"arguments": {"amount": 1, "reason": "as written"}}]))
    with ModelServerProcess(script=script) as scripted:
        for name, value in scripted.environment.items():
            monkeypatch.setenv(name, value)
        first, second = run_all("openai:gpt-5", Choice, "amount 7", "amount 7")
    assert (first, second.amount) == (Choice(amount=1, reason="as written"), 7)


def test_a_script_that_is_none(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"say": "hello"}]')
    with pytest.raises(LoopbackFailed, match="is not a JSON array of"):
        ModelServerProcess(script=script)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/chat/completions", b"{", 400),
        ("/chat/completions", b"[]", 400),
        ("/embeddings", b"{}", 404),
    ],
)
def test_a_request_that_does_not_fit_is_not_counted(
    model: ModelServerProcess, path: str, body: bytes, status: int
) -> None:
    before = model.requests_answered()
    assert httpx2.post(model.base_url + path, content=body).status_code == status
    assert model.requests_answered() == before


@pytest.mark.parametrize(
    "text",
    [
        "Company: Acme",
        "- **Company**: Acme",
        "company,Acme",
        "Legal name = Acme",
        '{"notes": [{"company": "Acme"}]}',
        '{"text": "# Letter\\nCompany: Acme\\n"}',
        'From the file:\n{"company": "Acme"}',
        '  "company": "Acme",',
        "<facts><company>Acme</company></facts>",
        "<text>Dear all\nCompany: Acme</text>",
        "Company: Acme\nCompany: Other",
    ],
)
def test_where_a_value_is_found(text: str) -> None:
    assert Prompt(text).value_of("company") == "Acme"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("amount 1200", 1200),
        ("Amount: EUR 1,200.50", 1200.5),
        ("total: -3", -3),
        ("an amount of 7.", 7),
        ("amount unknown", None),
    ],
)
def test_where_an_amount_is_found(text: str, number: float | None) -> None:
    assert Prompt(text).number_of("amount") == number


def test_every_answer_differs_even_where_all_was_found() -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}, "company": {"type": "string"}}}
    answers = [answer_to(schema, Prompt("amount: 5\ncompany: Acme"), n) for n in range(1, 50)]
    assert len({digest_of(one) for one in answers}) == 49
    assert {one["company"] for one in answers if isinstance(one, dict)} == {"Acme"}


def test_a_remark_is_heard() -> None:
    schema = {"type": "object", "properties": {"risk": {"type": "string"}}}
    assert "too high" in str(answer_to(schema, Prompt('{"remark": "too high"}'), 1))


def test_the_usual_keywords_of_a_schema() -> None:
    schema = {
        "type": "object",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}},
                "required": ["n"],
            }
        },
        "properties": {
            "level": {"enum": ["a", "b"]},
            "kind": {"const": "x"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
            "nothing": {"type": "null"},
            "share": {"type": "number", "exclusiveMaximum": 2, "minimum": 0},
            "count": {"type": ["integer", "null"], "minimum": 5000},
            "day": {"type": "string", "format": "date"},
            "code": {"type": "string", "maxLength": 3, "minLength": 3},
            "tree": {"$ref": "#/$defs/Node"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        },
    }
    answer = answer_to(schema, Prompt(""), 4)
    assert isinstance(answer, dict)
    assert (answer["level"], answer["kind"], answer["maybe"], answer["nothing"]) == ("a", "x", True, None)
    assert (answer["share"], answer["count"], answer["day"]) == (1, 5000, "2026-01-05")
    assert len(answer["tags"]) == 2
    assert isinstance(answer["tree"]["n"], int)


# ------------------------------------------------------------------ an agent's part, played from a script


class Played:
    """An agent with two tools, asked at a server that plays a script; each text that came is kept in the order it came."""

    def __init__(self, base_url: str, name: str) -> None:
        self.looked: list[str] = []
        self.told: list[str] = []
        protocol = pydantic_ai.models.infer_model(name, lambda provider: self._provider(base_url))
        self.agent = pydantic_ai.Agent(protocol)

        @self.agent.tool_plain
        def look(order: str) -> dict[str, object]:
            self.looked.append(order)
            return {"order": order, "cents": 4200}

        @self.agent.tool_plain
        def tell(cents: int, text: str) -> str:
            self.told.append(f"{cents} {text}")
            return "told"

    @staticmethod
    def _provider(base_url: str) -> Any:
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIProvider(base_url=base_url, api_key="none")

    def run(self, prompt: str) -> tuple[Any, list[str]]:
        """The result, and the pieces of its text."""

        pieces: list[str] = []

        async def heard(context: Any, events: Any) -> None:
            async for event in events:
                delta = getattr(getattr(event, "delta", None), "content_delta", None)
                pieces.extend([delta] if isinstance(delta, str) else [])

        async def ask() -> Any:
            async with self.agent:
                return await self.agent.run(prompt, event_stream_handler=heard)

        return asyncio.run(ask()), pieces


RULES = {
    "rules": [
        {"when": "order (?P<order>[A-Z]-[0-9]+)", "answer": {"text": "I look.", "calls": [
            {"tool": "look", "arguments": {"order": "{order}"}}, {"tool": "look", "arguments": {"order": "B-2"}},
        ]}},
        {"when": '"cents":(?P<cents>[0-9]+)', "said": "I am (?P<who>[a-z]+)", "answer": {"calls": [
            {"tool": "tell", "arguments": {"cents": "{cents:d}", "text": "for {who}, answer {n} of {nobody}"}}]}},
        {"when": "told", "answer": {"text": "It is done, and this text is long enough for several pieces."}},
    ]
}  # fmt: skip


def script_in(folder: Path, script: object) -> Path:
    file = folder / "script.json"
    file.write_text(json.dumps(script))
    return file


@pytest.mark.parametrize(("name", "path"), PROTOCOLS)
def test_an_agent_played_by_rules_streams_its_calls_and_its_text(tmp_path: Path, name: str, path: str) -> None:
    with ModelServerProcess(script=script_in(tmp_path, RULES)) as server:
        agent = Played(server.base_url, name)
        result, pieces = agent.run("I am ana, about order A-1")
        assert sorted(agent.looked) == ["A-1", "B-2"], "two calls in one answer"
        assert agent.told == ["4200 for ana, answer 2 of {nobody}"]
        assert result.output == "It is done, and this text is long enough for several pieces."
        assert "".join(pieces).endswith(result.output[12:]) and len(pieces) > 3
        assert result.usage.requests == 3 and result.usage.output_tokens > 0, "the usage comes with the stream"
        assert [item["path"] for item in server.requests()] == [path] * 3


@pytest.mark.parametrize("name", [name for name, _ in PROTOCOLS])
def test_the_same_rules_without_a_stream(tmp_path: Path, name: str) -> None:
    with ModelServerProcess(script=script_in(tmp_path, RULES)) as server:
        agent = Played(server.base_url, name)

        async def ask() -> str:
            async with agent.agent:
                return (await agent.agent.run("I am ana, about order A-1")).output

        assert asyncio.run(ask()).startswith("It is done")
        assert agent.told == ["4200 for ana, answer 2 of {nobody}"]


def test_a_list_of_answers_plays_several_calls(tmp_path: Path) -> None:
    calls = [{"tool": "tell", "arguments": {"cents": n, "text": "once"}} for n in (1, 2)]
    with ModelServerProcess(script=script_in(tmp_path, [{"calls": calls}, {"text": "Both."}])) as server:
        agent = Played(server.base_url, "openai-chat:gpt-5")
        assert agent.run("go on")[0].output == "Both."
        assert sorted(agent.told) == ["1 once", "2 once"]


def streamed(model: ModelServerProcess) -> Any:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    return httpx2.stream("POST", model.base_url + "/chat/completions", json=body, timeout=20)


def test_a_stream_that_is_cut_has_begun(model: ModelServerProcess) -> None:
    before = model.requests_answered()
    model.fault("cut-stream")
    with streamed(model) as answer:
        lines = answer.iter_lines()
        assert "assistant" in next(lines)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(lines)
    assert model.requests_answered() == before + 1


def test_a_stream_that_is_held_goes_on_when_it_is_released(model: ModelServerProcess) -> None:
    model.fault("hold-stream")
    decided = model.requests_answered()
    with streamed(model) as answer:
        lines = answer.iter_lines()
        assert "assistant" in next(lines)
        model.wait(requests=decided + 1)
        model.release()
        assert [line for line in lines if line][-1] == "data: [DONE]"


@pytest.mark.parametrize(
    "script", [{"rules": [{"when": "(", "answer": {"text": "a"}}]}, {"rules": [{"when": "a"}]}, [{"calls": []}], [1]]
)
def test_a_script_that_cannot_be_played(tmp_path: Path, script: object) -> None:
    with pytest.raises(LoopbackFailed):
        ModelServerProcess(script=script_in(tmp_path, script))
