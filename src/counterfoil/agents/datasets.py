"""A data set of decisions as a file: the form that `pydantic_evals.Dataset.from_file` loads, YAML or JSON by its name.

Written and read here, so that neither an export nor a replay needs pydantic-evals.
"""

import json
from pathlib import PurePath
from typing import Any, Literal, cast

import yaml

from counterfoil.model.errors import Refused

Form = Literal["yaml", "json"]
_FORMS: dict[str, Form] = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def form_of(name: str) -> Form:
    """By the file's name, as pydantic-evals tells it. Raises Refused(usage)."""
    found = _FORMS.get(PurePath(name).suffix.lower())
    if found is None:
        raise Refused("usage", problem=f"{name!r} does not say what it is; name it .yaml, .yml or .json")
    return found


def dataset_text(name: str, cases: list[dict[str, Any]], form: Form) -> str:
    """The file's text. A case is `{name, inputs, expected_output, metadata}`, each JSON."""
    # Through JSON text: one object that stands at two places would be an anchor and an alias in YAML.
    document = json.loads(json.dumps({"name": name, "cases": cases}))
    if form == "json":
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        # Half a character, as a model's JSON may bring it, has no UTF-8, but an escape.
        return text if _has_utf8(text) else json.dumps(document, indent=2) + "\n"
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cases_in(content: bytes, name: str) -> list[dict[str, Any]]:
    """The cases of such a file, also of one that was written by hand. Raises Refused(malformed_dataset, usage)."""
    form = form_of(name)
    try:
        text = content.decode()
        read: Any = json.loads(text) if form == "json" else yaml.safe_load(text)
        document: Any = json.loads(
            json.dumps(read, allow_nan=False)
        )  # YAML also has times and sets, which no model is told
    except (TypeError, ValueError, RecursionError, yaml.YAMLError) as problem:
        said = " ".join(str(problem).split()) or "it is nested too deeply"
        raise Refused("malformed_dataset", name=name, problem=said) from problem
    cases: Any = cast("dict[str, Any]", document).get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list):
        raise Refused("malformed_dataset", name=name, problem="it has no list of cases")
    return [_case(case, n, name) for n, case in enumerate(cast("list[Any]", cases), start=1)]


def _case(case: Any, n: int, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cast("dict[str, Any]", case) if isinstance(case, dict) else {}
    inputs: dict[str, Any] = found.get("inputs") if isinstance(found.get("inputs"), dict) else {}  # type: ignore[assignment]
    if "input" not in inputs and not isinstance(inputs.get("messages"), list):
        raise Refused(
            "malformed_dataset", name=name, problem=f"case {n} has neither an input nor messages in its inputs"
        )
    metadata: Any = found.get("metadata")
    return {
        "name": str(found.get("name") or f"case {n}"),
        "inputs": inputs,
        "expected_output": found.get("expected_output"),
        "metadata": metadata if isinstance(metadata, dict) else {},
    }
