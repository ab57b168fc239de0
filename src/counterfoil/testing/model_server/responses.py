"""`POST /v1/responses`: the question in a request, and an answer as a reply, whole or in pieces."""

from collections.abc import Iterator
from dataclasses import replace

from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.model_server.questions import Answer, Question, chosen_tool, last_of, words_of
from counterfoil.testing.model_server.streaming import in_pieces, server_sent

Output = dict[str, object]


def question_in(body: dict[str, object]) -> Question:
    """What a request asks for."""
    functions = [tool for tool in as_objects(body.get("tools")) if tool.get("type") == "function"]
    tool = chosen_tool(functions, body.get("tool_choice"))
    asked = Question(
        str(body.get("model")),
        words_of(body.get("input")),
        last=words_of(last_of(body.get("input"))),
        streamed=bool(body.get("stream")),
    )
    if tool is not None:
        return replace(asked, tool=str(tool["name"]), schema=as_object(tool.get("parameters")))
    wanted = as_object(as_object(body.get("text")).get("format"))
    if wanted.get("type") == "json_schema":
        return replace(asked, schema=as_object(wanted.get("schema")))
    if wanted.get("type") == "json_object":
        return replace(asked, schema={"type": "object", "properties": {"text": {"type": "string"}}})
    return asked


def reply_with(question: Question, answer: Answer, *, created: int) -> dict[str, object]:
    """The body of a reply, usage included."""
    read, written = len(question.text) // 4 + 1, len(answer.text) // 4 + 1
    return {
        "id": f"resp_{answer.n}",
        "object": "response",
        "created_at": created,
        "status": "completed",
        "model": question.model,
        "output": _outputs(answer),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


def stream_of(question: Question, answer: Answer, *, created: int) -> Iterator[bytes]:
    """The same, piece by piece, with the whole at its end."""
    whole = reply_with(question, answer, created=created)
    told = 0

    def piece_of(kind: str, **facts: object) -> bytes:
        nonlocal told
        told += 1
        return server_sent({"type": f"response.{kind}", "sequence_number": told, **facts}, name=f"response.{kind}")

    yield piece_of("created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for index, output in enumerate(_outputs(answer)):
        place: Output = {"item_id": output["id"], "output_index": index}
        called = output["type"] == "function_call"
        yield piece_of("output_item.added", output_index=index, item={**_empty(output), "status": "in_progress"})
        if called:
            for piece in in_pieces(str(output["arguments"])):
                yield piece_of("function_call_arguments.delta", **place, delta=piece)
            yield piece_of("function_call_arguments.done", **place, name=output["name"], arguments=output["arguments"])
        else:
            text: Output = {"type": "output_text", "text": answer.words, "annotations": []}
            yield piece_of("content_part.added", **place, content_index=0, part={**text, "text": ""})
            for piece in in_pieces(answer.words or ""):
                yield piece_of("output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            yield piece_of("output_text.done", **place, content_index=0, text=answer.words, logprobs=[])
            yield piece_of("content_part.done", **place, content_index=0, part=text)
        yield piece_of("output_item.done", output_index=index, item=output)
    yield piece_of("completed", response=whole)


def _outputs(answer: Answer) -> list[Output]:
    found: list[Output] = []
    if answer.words is not None:
        content: list[Output] = [{"type": "output_text", "text": answer.words, "annotations": []}]
        message = {"type": "message", "id": f"msg_{answer.n}", "role": "assistant", "status": "completed"}
        found.append({**message, "content": content})
    for call in answer.calls:
        made = {"type": "function_call", "id": call.call_id.replace("call", "fc"), "call_id": call.call_id}
        found.append({**made, "name": call.tool, "arguments": call.arguments, "status": "completed"})
    return found


def _empty(output: Output) -> Output:
    return {**output, "arguments": ""} if output["type"] == "function_call" else {**output, "content": []}
