"""An answer for a JSON schema: plausible values from the prompt, and always something that differs from call to call."""

import datetime
import hashlib
from collections.abc import Mapping
from typing import cast

from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.model_server.reading import Prompt

Schema = Mapping[str, object]
_LEVELS = ("low", "medium", "high")
_DEEPEST = 8
_FIRST_DAY = datetime.date(2026, 1, 1)


def answer_to(schema: Schema, prompt: Prompt, n: int) -> object:
    """The `n`-th answer: fits the schema as far as the common keywords go, and differs from every other `n` where it can."""
    filling = _Filling(schema, prompt, n, keep_found=True)
    answer = filling.value("", schema, 0)
    if not filling.varied:
        # Everything was found in the prompt: a value is changed all the same, since a saved answer must be recognisable.
        answer = _Filling(schema, prompt, n, keep_found=False).value("", schema, 0)
    return answer


def sentence(prompt: Prompt, n: int) -> str:
    """A sentence that names its call, and the remark of a reviewer if the prompt has one."""
    remark = prompt.value_of("remark")
    return f"answer {n} of the local model" + (f"; remark considered: {remark}" if remark else "")


class _Filling:
    """One pass over a schema. `varied` says whether a value carries the call's number."""

    def __init__(self, root: Schema, prompt: Prompt, n: int, *, keep_found: bool) -> None:
        self._root = root
        self._prompt = prompt
        self._n = n
        self._keep_found = keep_found
        self.varied = False

    def value(self, name: str, schema: Schema, depth: int) -> object:
        """A value for one schema; `name` is the property it stands under."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            choices = cast("list[object]", schema["enum"])
            return choices[self._n % len(choices)]
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(name, schema, depth)
        if kind in {"integer", "number"}:
            return self._number(name, schema, whole=kind == "integer")
        if kind == "boolean":
            return self._n % 2 == 0
        return None if kind == "null" else self._string(name, schema)

    def _resolved(self, schema: Schema) -> Schema:
        for _ in range(_DEEPEST):
            reference = schema.get("$ref")
            if isinstance(reference, str):
                place: object = self._root
                for part in reference.removeprefix("#/").split("/"):
                    place = as_object(place).get(part)
                schema = as_object(place)
                continue
            options = next(
                (cast("list[object]", schema[word]) for word in ("anyOf", "oneOf", "allOf") if schema.get(word)), None
            )
            if options is None:
                break
            some = [as_object(one) for one in options if as_object(one).get("type") != "null"]
            schema = some[0] if some else {"type": "null"}
        return schema

    def _object(self, schema: Schema, depth: int) -> dict[str, object]:
        properties = as_object(schema.get("properties"))
        required = cast("list[str]", schema.get("required") or [])
        wanted = required if depth >= _DEEPEST // 2 else properties
        if depth >= _DEEPEST:
            return {}
        return {name: self.value(name, as_object(properties.get(name)), depth + 1) for name in wanted}

    def _array(self, name: str, schema: Schema, depth: int) -> list[object]:
        least = schema.get("minItems", 0)
        count = least if isinstance(least, int) and least > 0 else int(depth < _DEEPEST // 2)
        return [self.value(name, as_object(schema.get("items")), depth + 1) for _ in range(count)]

    def _number(self, name: str, schema: Schema, *, whole: bool) -> int | float:
        found = self._prompt.number_of(name)
        if found is None:
            self.varied = True
            found = 1000.0 + self._n
        elif not self._keep_found and not self.varied:
            self.varied = True
            found += self._n
        for word in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
            bound = schema.get(word)
            if isinstance(bound, int | float):
                step = 1 if word.startswith("exclusive") else 0
                found = max(found, bound + step) if word.lower().endswith("minimum") else min(found, bound - step)
        return int(found) if whole else found

    def _string(self, name: str, schema: Schema) -> str:
        form = schema.get("format")
        if isinstance(form, str):
            self.varied = True
            return self._formatted(name, form)
        found = self._prompt.value_of(name) if name.lower() not in {"risk", "reason"} else None
        if found is not None and (self._keep_found or self.varied):
            text = found
        else:
            self.varied = True
            text = f"{found} ({sentence(self._prompt, self._n)})" if found is not None else self._invented(name)
        least, most = schema.get("minLength"), schema.get("maxLength")
        text = text.ljust(least, ".") if isinstance(least, int) else text
        if isinstance(most, int) and len(text) > most:
            text = f"{self._n}"[-most:] if found is None else text[:most]
        return text

    def _invented(self, name: str) -> str:
        words = sentence(self._prompt, self._n)
        return f"{_LEVELS[self._n % len(_LEVELS)]}: {words}" if name.lower() == "risk" else f"{name or 'text'}: {words}"

    def _formatted(self, name: str, form: str) -> str:
        day = _FIRST_DAY + datetime.timedelta(days=self._n)
        known = {
            "date": day.isoformat(),
            "date-time": f"{day.isoformat()}T09:00:00Z",
            "time": f"09:{self._n // 60 % 60:02}:{self._n % 60:02}Z",
            "email": f"{name or 'mail'}-{self._n}@example.com",
            "uri": f"https://example.com/{self._n}",
            "uuid": _uuid(self._n),
        }
        return known.get(form, f"{form} {self._n}")


def _kind(schema: Schema) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast("list[object]", kind) if one != "null"), "null")
    return "object" if kind is None and "properties" in schema else kind


def _uuid(n: int) -> str:
    digits = hashlib.sha256(str(n).encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"
