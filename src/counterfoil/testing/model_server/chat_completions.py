"""`POST /v1/chat/completions`: the question in a request, and an answer as a reply."""

from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.model_server.questions import Answer, Question, chosen_tool, words_of


def question_in(body: dict[str, object]) -> Question:
    """What a request asks for."""
    tool = chosen_tool(
        [as_object(tool.get("function")) for tool in as_objects(body.get("tools"))], body.get("tool_choice")
    )
    model, text = str(body.get("model")), words_of(body.get("messages"))
    if tool is not None:
        return Question(model, text, str(tool["name"]), as_object(tool.get("parameters")))
    wanted = as_object(body.get("response_format"))
    if wanted.get("type") == "json_schema":
        return Question(model, text, None, as_object(as_object(wanted.get("json_schema")).get("schema")))
    if wanted.get("type") == "json_object":
        return Question(model, text, None, {"type": "object", "properties": {"text": {"type": "string"}}})
    return Question(model, text)


def reply_with(question: Question, answer: Answer, *, created: int) -> dict[str, object]:
    """The body of a reply, usage included."""
    message: dict[str, object] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.tool is not None:
        function = {"name": answer.tool, "arguments": answer.text}
        message["content"] = None
        message["tool_calls"] = [{"id": f"call_{answer.n}", "type": "function", "function": function}]
    read, written = len(question.text) // 4 + 1, len(answer.text) // 4 + 1
    return {
        "id": f"chatcmpl-{answer.n}",
        "object": "chat.completion",
        "created": created,
        "model": question.model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop", "logprobs": None}
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }
