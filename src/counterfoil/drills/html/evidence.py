"""One case opened: the disturbance, what was found at the receiver and in the journal, and the verdict with its reasons."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from counterfoil.drills.html.markup import Markup, element, joined
from counterfoil.drills.html.parts import list_at, object_at

Case = Mapping[str, Any]

# verdict -> (mark, word). The mark and the word say it; the colour only repeats it.
VERDICTS = {
    "fail": ("✗", "fail"),
    "pass": ("✓", "pass"),
    "not_applicable": ("⊘", "not applicable"),
    "not_run": ("○", "not run"),
}
SHORT = {"not_applicable": "n/a"}  # in the matrix, where a column is narrow; the page says what it stands for
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def verdict_of(verdict: str, *, short: bool = False) -> Markup:
    """Mark and word."""
    mark, said = VERDICTS.get(verdict, ("?", ""))[0], word_of(verdict, short=short)
    return element("span", element("span", mark, aria_hidden="true"), " ", said, class_=f"verdict {kind_of(verdict)}")


def word_of(verdict: str, *, short: bool = False) -> str:
    """The word of a verdict; of an unknown one, itself."""
    word = VERDICTS.get(verdict, ("?", verdict))[1]
    return SHORT.get(verdict, word) if short else word


def kind_of(verdict: str) -> str:
    """The class of a verdict; of an unknown one, that of a failure."""
    return f"is-{verdict.replace('_', '-')}" if verdict in VERDICTS else "is-fail"


def anchor_of(number: int) -> str:
    """Where a case stands on the page. Its id would need escaping, a number does not."""
    return f"case-{number}"


def opened(number: int, case: Case) -> Markup:
    """A case that opens to its evidence. A link to its anchor opens it too."""
    head = element(
        "summary",
        verdict_of(case["verdict"]),
        " ",
        element("strong", str(case["case_id"]).partition("/")[2].replace("/", " / ")),
        f" · {case['name']}" if case.get("name") else None,
        element("span", _in_short(case), class_="short"),
    )
    body = element("div", *_parts(case), id=anchor_of(number), class_="evidence", tabindex="-1")
    return element("details", head, body, class_=f"case {kind_of(case['verdict'])}")


def _in_short(case: Case) -> str:
    """What one looks for first: the reason, or else the outcome and what the receiver holds."""
    if reasons := list_at(case, "reasons"):
        return str(reasons[0])
    records = object_at(case, "receiver").get("records")
    held = f", {records} {'record' if records == 1 else 'records'} at the receiver" if isinstance(records, int) else ""
    return f"{case.get('outcome') or 'no outcome'}{held}"


def _parts(case: Case) -> list[Markup]:
    applied, receiver = object_at(case, "applied"), object_at(case, "receiver")
    parts = [
        _reasons(case),
        _part("What was done to it", {"at": applied.get("at"), **object_at(applied, "proof")}),
        _part(
            "What the receiver holds",
            {
                "records": receiver.get("records"),
                "digests of their payloads": receiver.get("payload_digests"),
                "writes outside an operation": receiver.get("unledgered_writes"),
                **_beside(receiver, {"records", "payload_digests", "unledgered_writes"}),
            },
        ),
        _part(
            "What the ledger says",
            {
                "run": case.get("run_id"),
                "operations": case.get("operation_ids"),
                "proposal version": case.get("proposal_version"),
                "proposal digest": case.get("proposal_digest"),
                "approval bound to what was sent": case.get("approval_bound"),
                "attempts": case.get("attempts"),
                "receipts": case.get("receipts"),
                "outcome": case.get("outcome"),
                "visible to a person": case.get("visible"),
                "owner": case.get("owner"),
            },
        ),
        _next(object_at(case, "next_action")),
        _repeat(case),
    ]
    return [part for part in parts if part is not None]


def _reasons(case: Case) -> Markup | None:
    said = list_at(case, "reasons")
    return element("ul", *(element("li", each) for each in said), class_="reasons") if said else None


def _beside(shown: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """What a report of a later release holds beside what this one knows."""
    return {name: value for name, value in shown.items() if name not in known}


def _part(title: str, facts: Mapping[str, Any]) -> Markup:
    return element("section", element("h4", title), value(facts))


def _next(action: Mapping[str, Any]) -> Markup | None:
    if not action:
        return None
    who = object_at(action, "who")
    whom = " ".join(str(each) for each in (who.get("kind"), who.get("name")) if each and each != "none")
    facts = {"who": whom or "nobody", "until": action.get("deadline_at")}
    command = action.get("command")
    return element(
        "section",
        element("h4", "What may be done next"),
        element("p", action.get("sentence")),
        value(facts) if whom else None,
        element("pre", element("code", command)) if command else None,
    )


def _repeat(case: Case) -> Markup:
    seconds = case.get("seconds")
    took = f"It took {seconds:.2f} s. " if isinstance(seconds, int | float) else ""
    repeat = case.get("repeat")
    return element(
        "section",
        element("h4", "Again"),
        element("p", took, "This command repeats it:" if repeat else None),
        element("pre", element("code", repeat)) if repeat else None,
        element("p", element("a", "Back to the matrix", href="#matrix")),
    )


def value(shown: Any) -> Markup:
    """Any JSON value: an object as names and values, a list as a list."""
    if isinstance(shown, Mapping):
        named = cast("Mapping[str, Any]", shown)
        pairs = [element("div", element("dt", name), element("dd", value(each))) for name, each in named.items()]
        return element("dl", *pairs) if pairs else element("span", "none", class_="none")
    if isinstance(shown, Sequence) and not isinstance(shown, str):
        items = cast("Sequence[Any]", shown)
        if not items:
            return element("span", "none", class_="none")
        return value(items[0]) if len(items) == 1 else element("ul", *(element("li", value(each)) for each in items))
    if shown is None:
        return element("span", "-", class_="none")
    if isinstance(shown, str) and DIGEST.fullmatch(shown):
        return element("code", shown)
    return joined([shown])
