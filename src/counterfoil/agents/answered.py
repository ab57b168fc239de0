"""A model's answer in the form of the saved one: an output, or in a turn its text and the tools that it calls."""

import json
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters


def comparable(
    response: ModelResponse, parameters: ModelRequestParameters, *, turn: bool, output_type: Any = None
) -> Any:
    """`{text, tool_calls: [{tool, args}]}` in a turn. Else the output; or the same form where the model wants a tool first."""
    outputs = {tool.name: tool for tool in parameters.output_tools}
    for call in response.tool_calls if not turn else ():
        if call.tool_name in outputs:
            arguments = arguments_of(call)
            key = outputs[call.tool_name].outer_typed_dict_key
            return _dumped(
                arguments[key] if key and isinstance(arguments, dict) and key in arguments else arguments, output_type
            )
    if turn or response.tool_calls:
        return said_in(response)
    text = _text(response)
    if parameters.output_object is None:
        return text
    try:
        return _dumped(json.loads(text), output_type)
    except ValueError:
        return text


def said_in(response: ModelResponse) -> dict[str, Any]:
    """What a turn's answer says and calls; ids, times and thoughts are not compared."""
    calls = [{"tool": call.tool_name, "args": arguments_of(call)} for call in response.tool_calls]
    return {"text": _text(response), "tool_calls": calls}


def arguments_of(call: ToolCallPart) -> Any:
    """As JSON; a text that is none stays text."""
    if not isinstance(call.args, str):
        return call.args or {}
    try:
        return json.loads(call.args or "{}")
    except ValueError:
        return call.args


def _text(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _dumped(value: Any, output_type: Any) -> Any:
    """With the defaults that the output's type fills in, as the saved one has them; as it came where it does not fit."""
    if not isinstance(output_type, type):
        return value
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        return adapter.dump_python(adapter.validate_python(value), mode="json")
    except (ValidationError, ValueError, TypeError, AttributeError):
        return value


def schema_of(value: Any) -> dict[str, Any]:
    """A JSON schema that the value fits: its fields, all of them required, by their kinds."""
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        properties = {name: schema_of(item) for name, item in named.items()}
        return {"type": "object", "properties": properties, "required": list(named)}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return {"type": "array", "items": schema_of(items[0]) if items else {}}
    kinds: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds[type(value)]} if type(value) in kinds else {}
