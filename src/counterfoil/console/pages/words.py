"""How values are written on a page: times, money, digests and names, as template filters."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape

from counterfoil.model.money import digits_of
from counterfoil.model.run import PARK_SENTENCES

HEADINGS = {"review": "to approve", "renewal": "to approve again", "incident": "incidents"}
SENTENCES = {reason.value: sentence for reason, sentence in PARK_SENTENCES.items()} | {
    "review": "A proposal waits for somebody's answer. Nothing of it was sent.",
    "renewal": "This may already have happened; only another send could tell, and its approval no longer covers it.",
    "incident": "A receiver contradicts the record. Its business key is frozen until somebody has weighed the evidence.",
}
PLAIN = {"crm": "CRM", "api": "API", "http": "HTTP", "url": "URL", "usd": "USD"}


def words(code: str) -> str:
    """`outcome_unknown` is outcome unknown."""
    return " ".join(PLAIN.get(part, part) for part in str(code).replace("-", "_").split("_"))


def reason(code: str) -> str:
    """Why something needs a person, as a heading."""
    said = HEADINGS.get(code, words(code))
    return said[:1].upper() + said[1:]


def park_sentence(code: str) -> str:
    """The one sentence that explains a reason of the inbox."""
    return SENTENCES.get(code, "")


def plainly(sentence: str) -> str:
    """A sentence that also stands beside a command, without what one would type."""
    return sentence.replace(", or type reject in place of approve", " or reject it").replace("--as ", "")


def metric(name: str) -> str:
    """`operations_unresolved_oldest_seconds` is Operations unresolved oldest."""
    said = words(name.removesuffix("_total").removesuffix("_seconds"))
    return said[:1].upper() + said[1:]


def option(code: str) -> tuple[str, str]:
    """A choice of a filter."""
    return code, words(code)


def utc(when: str) -> str:
    """`2026-11-29T23:18:41.250000Z` is 2026-11-29 23:18:41 UTC."""
    return _moment(when).strftime("%Y-%m-%d %H:%M:%S UTC")


def short(digest: str) -> str:
    """The first twelve characters of a digest or id, without its prefix for a digest."""
    bare = str(digest).removeprefix("sha256:")
    return f"{bare[:12]}…" if len(bare) > 14 else bare


def shortened(text: str, longest: int) -> str:
    """At most so many characters, and a sign that more was there."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


_TURNING = {
    ord(each): f"\\u{ord(each):04x}"
    for each in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}


def in_order(text: str) -> str:
    """Characters that turn the order of what follows are written as their codes: a text reads as it is stored."""
    return text.translate(_TURNING)


def money(amount: dict[str, Any]) -> str:
    """`{minor: 123450, currency: EUR}` is 1,234.50 EUR."""
    digits = digits_of(amount["currency"])
    return f"{Decimal(int(amount['minor'])).scaleb(-digits):,.{digits}f} {amount['currency']}"


def lasting(microseconds: float, units: int = 2) -> str:
    """A length of time in its largest units: 2 h 5 min, or with `units=1` 2 h."""
    seconds = int(abs(microseconds) // 1_000_000)
    if seconds < 60:
        return f"{seconds} s"
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(index for index, (count, _) in enumerate(parts) if count)
    kept = parts[first : first + (1 if first == 2 and minutes >= 10 else units)]
    return " ".join(f"{count} {unit}" for count, unit in kept if count)


def marked(sentence: str) -> Markup:
    """A sentence whose `code` stands between backquotes, as messages and docstrings write it."""
    parts = str(sentence).split("`")
    if len(parts) % 2 == 0:
        return escape(sentence)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def budget(figure: str | int, kind: str) -> str:
    """A figure of a budget: elapsed time in its largest units, a count or USD as it is."""
    return lasting(float(figure) * 1_000_000) if kind == "elapsed" else str(figure)


def ago(when: str, now: str) -> str:
    """How long since: just now, 3 min ago; of what is to come: in 5 min."""
    passed = _microseconds(now) - _microseconds(when)
    if passed < 0:
        return f"in {lasting(passed)}"
    return "just now" if passed < 5_000_000 else f"{lasting(passed, 1)} ago"


def until(when: str, now: str) -> str:
    """A countdown to a deadline: in 2 h 5 min, or overdue by 12 min."""
    left = _microseconds(when) - _microseconds(now)
    return f"in {lasting(left)}" if left > 0 else f"overdue by {lasting(left)}"


def past(when: str, now: str) -> bool:
    """Whether a deadline is over."""
    return _microseconds(when) <= _microseconds(now)


def percent(share: float | None) -> str:
    """0.125 is 12.5 %."""
    return "-" if share is None else f"{share * 100:.1f} %".replace(".0 %", " %")


def scope(text: str) -> str:
    """The scope of a suspension: receiver crm, operation op_12ab…, or everything."""
    kind, _, name = text.partition(":")
    return f"{kind} {short(name) if kind == 'operation' else name}" if name else "everything"


def _moment(when: str) -> datetime:
    return datetime.fromisoformat(when.replace("Z", "+00:00")).astimezone(UTC)


def _microseconds(when: str) -> int:
    moment = _moment(when)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
