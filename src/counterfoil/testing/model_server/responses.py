"""`POST /v1/responses`: the question in a request, and an answer as a reply."""

from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.model_server.questions import Answer, Question, chosen_tool, words_of


def question_in(body: dict[str, object]) -> Question:
    """What a request asks for."""
    functions = [tool for tool in as_objects(body.get("tools")) if tool.get("type") == "function"]
    tool = chosen_tool(functions, body.get("tool_choice"))
    model, text = str(body.get("model")), words_of(body.get("input"))
    if tool is not None:
        return Question(model, text, str(tool["name"]), as_object(tool.get("parameters")))
    wanted = as_object(as_object(body.get("text")).get("format"))
    if wanted.get("type") == "json_schema":
        return Question(model, text, None, as_object(wanted.get("schema")))
    if wanted.get("type") == "json_object":
        return Question(model, text, None, {"type": "object", "properties": {"text": {"type": "string"}}})
    return Question(model, text)


def reply_with(question: Question, answer: Answer, *, created: int) -> dict[str, object]:
    """The body of a reply, usage included."""
    output: dict[str, object] = {
        "type": "message",
        "id": f"msg_{answer.n}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    }
    if answer.tool is not None:
        output = {
            "type": "function_call",
            "id": f"fc_{answer.n}",
            "call_id": f"call_{answer.n}",
            "name": answer.tool,
            "arguments": answer.text,
            "status": "completed",
        }
    read, written = len(question.text) // 4 + 1, len(answer.text) // 4 + 1
    return {
        "id": f"resp_{answer.n}",
        "object": "response",
        "created_at": created,
        "status": "completed",
        "model": question.model,
        "output": [output],
        "parallel_tool_calls": False,
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
