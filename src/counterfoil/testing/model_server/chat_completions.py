"""`POST /v1/chat/completions`: the question in a request, and an answer as a reply, whole or in pieces."""

from collections.abc import Iterator
from dataclasses import replace

from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.model_server.questions import Answer, Question, chosen_tool, last_of, words_of
from counterfoil.testing.model_server.streaming import in_pieces, server_sent


def question_in(body: dict[str, object]) -> Question:
    """What a request asks for."""
    tool = chosen_tool(
        [as_object(tool.get("function")) for tool in as_objects(body.get("tools"))], body.get("tool_choice")
    )
    asked = Question(
        str(body.get("model")),
        words_of(body.get("messages")),
        last=words_of(last_of(body.get("messages"))),
        streamed=bool(body.get("stream")),
    )
    if tool is not None:
        return replace(asked, tool=str(tool["name"]), schema=as_object(tool.get("parameters")))
    wanted = as_object(body.get("response_format"))
    if wanted.get("type") == "json_schema":
        return replace(asked, schema=as_object(as_object(wanted.get("json_schema")).get("schema")))
    if wanted.get("type") == "json_object":
        return replace(asked, schema={"type": "object", "properties": {"text": {"type": "string"}}})
    return asked


def reply_with(question: Question, answer: Answer, *, created: int) -> dict[str, object]:
    """The body of a reply, usage included."""
    message: dict[str, object] = {"role": "assistant", "content": answer.words, "refusal": None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in answer.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer), "logprobs": None}
    return {
        **_head(question, answer, "chat.completion", created),
        "choices": [choice],
        "usage": _usage(question, answer),
    }


def stream_of(question: Question, answer: Answer, *, created: int) -> Iterator[bytes]:
    """The same, piece by piece, with the usage at its end."""
    head = _head(question, answer, "chat.completion.chunk", created)

    def chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
        return server_sent({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None})

    yield chunk({"role": "assistant", "content": ""})
    for piece in in_pieces(answer.words or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(answer.calls):
        opened = {"index": index, "id": call.call_id, "type": "function"}
        yield chunk({"tool_calls": [{**opened, "function": {"name": call.tool, "arguments": ""}}]})
        for piece in in_pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _reason(answer))
    yield server_sent({**head, "choices": [], "usage": _usage(question, answer)})
    yield b"data: [DONE]\n\n"


def _head(question: Question, answer: Answer, kind: str, created: int) -> dict[str, object]:
    return {"id": f"chatcmpl-{answer.n}", "object": kind, "created": created, "model": question.model}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _usage(question: Question, answer: Answer) -> dict[str, object]:
    read, written = len(question.text) // 4 + 1, len(answer.text) // 4 + 1
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
