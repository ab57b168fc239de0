"""A first contract for an API of one's own: questions about what a second request does, and the file that the answers make."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from counterfoil.model.errors import Refused
from counterfoil.receivers.catalogue.reading import Misread, read_contract

_PLACE = r"(header|query|body|path):\S+"
_TIME = r"for ever|\d+ (second|minute|hour|day)s?"
_STATUSES = r"[1-5]xx|\d{3}(,\s*\d{3})*"


@dataclass(frozen=True, slots=True)
class Question:
    """`fits` is a pattern of the answers; an empty answer means: nobody knows."""

    name: str
    text: str
    fits: str
    example: str


QUESTIONS = (
    Question("api_version", "Which version of the API is this about?", r".+", "1"),
    Question("action", "What does it do?", r".+", "POST /cases"),
    Question("duplicate", "What does a second effect cost?", r"benign|costly|irreversible", "costly"),
    Question("key", "Where does a key travel that makes a second request harmless?", _PLACE, "header:Idempotency-Key"),
    Question("key.retention", "How long is a key kept, at least?", _TIME, "24 hours"),
    Question(
        "key.other_body",
        "What does the same key do with other content?",
        r"rejects|replays|identity|overwrites",
        "rejects",
    ),
    Question("key.saves", "Which classes of answers are kept under it?", r"[245]xx(,\s*[245]xx)*", "2xx,4xx"),
    Question("key.scope", "What narrows it?", r"\w+(,\s*\w+)*", "credential,endpoint"),
    Question("applied", "Which statuses mean that it happened?", _STATUSES, "2xx"),
    Question("refused", "Which statuses mean that it did not, for good?", _STATUSES, "400,422"),
    Question("in_progress", "Which status says that the first request still runs?", _STATUSES, "409"),
    Question("not_applied", "Which statuses come before anything is executed?", _STATUSES, "429"),
    Question("lookup.consistency", "Can it be asked by our id, and how fresh is the answer?", r"strong|eventual", "strong"),
    Question("lookup.visible_within", "After what time does an effect show there, at most?", _TIME, "30 seconds"),
    Question("lookup.arrives_within", "How late may a request still arrive?", _TIME, "5 minutes"),
    Question("procedure", "What does a person check in doubt, where, and what does each answer mean?", r".+", "Ask the desk."),
)  # fmt: skip


def scaffolded(answers: Mapping[str, str], date: str) -> str:
    """The text of a contract file. Raises Refused(usage) for an answer that does not fit its question."""
    known = {question.name: question for question in QUESTIONS}
    for name, answer in answers.items():
        if name not in known:
            raise Refused("usage", problem=f"there is no question {name!r}; there are: {', '.join(known)}")
        if not re.fullmatch(known[name].fits, answer):
            raise Refused("usage", problem=f"{answer!r} does not answer {name!r}: for example {known[name].example}")
    table = _table(answers)
    try:
        read_contract(table)
    except Misread as problem:
        raise Refused("usage", problem=str(problem)) from problem
    table["provenance"] = {"sources": ["our own answers"], "date": date, "confidence": {"classifier": "documented"}}
    return "\n".join(["# What is left out is unknown, and takes the strictest reading.", *_lines(table)]) + "\n"


def _table(answers: Mapping[str, str]) -> dict[str, Any]:
    table: dict[str, Any] = {"api_version": "1", "duplicate": "irreversible"}
    plain = ("api_version", "action", "duplicate", "procedure")
    table |= {name: answers[name] for name in plain if name in answers}
    for holder in ("key", "lookup"):
        inner = {name.partition(".")[2]: answer for name, answer in answers.items() if name.startswith(f"{holder}.")}
        if inner:
            table[holder] = {name: _listed(name, answer) for name, answer in inner.items()}
    if "key" in answers:
        place, _, name = answers["key"].partition(":")
        table["key"] = {place: name, **table.get("key", {})}
    elif "key" in table:
        raise Refused("usage", problem="there are answers about a key, and none says where it travels: key=header:NAME")
    table["classifier"] = [
        {"status": _statuses(answers[meaning]), "means": meaning}
        for meaning in ("in_progress", "not_applied", "applied", "refused")
        if meaning in answers
    ] or [{"status": "2xx", "means": "applied"}]
    return table


def _listed(name: str, answer: str) -> Any:
    return re.split(r",\s*", answer) if name in ("saves", "scope") else answer


def _statuses(answer: str) -> Any:
    return answer if answer.endswith("xx") else [int(status) for status in re.split(r",\s*", answer)]


def _lines(table: Mapping[str, Any], at: str = "") -> list[str]:
    plain = {
        name: value for name, value in table.items() if not isinstance(value, dict) and (at or name != "classifier")
    }
    lines = [f"{_name(name)} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    for rule in () if at else table["classifier"]:
        lines += ["", "[[classifier]]", *(f"{name} = {json.dumps(value)}" for name, value in rule.items())]
    for name, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{at}{name}]", *_lines(cast("dict[str, Any]", value), f"{at}{name}.")]
    return lines


def _name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else json.dumps(name)
