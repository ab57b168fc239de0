"""What may be typed: a message, or a word that begins with a slash."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from counterfoil.app.decisions import DecisionFilter
from counterfoil.cli import pages
from counterfoil.cli.tables import fields
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.cli.chat.session import Session

_REVIEW = re.compile(r"rev-(\d+)(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Word:
    """`does` is given what stands behind the word."""

    about: str
    does: "Callable[[Session, str], Awaitable[None]]"


async def handle(session: "Session", line: str | None) -> None:
    """One line; None is the end of the input. `//` begins a message that begins with a slash. Raises Refused."""
    if line is None:
        session.left = True
    elif line.startswith("/") and not line.startswith("//"):
        name, _, rest = line[1:].partition(" ")
        word = WORDS.get(name)
        if word is None:
            raise Refused("usage", problem=f"there is no /{name}; /help says what there is. Nothing was sent")
        await word.does(session, rest.strip())
    elif line.strip():
        await _said(session, line[1:] if line.startswith("//") else line)


async def _said(session: "Session", text: str) -> None:
    if not session.alone and session.waits():  # a script cannot see what its message would wait for
        session.teller.note("The turn before waits for a person; this line and those behind it were not sent.")
        session.left = True
        return
    try:
        await session.say(text)
    except Refused:
        session.give_back(text)
        raise


async def _abort(session: "Session", rest: str) -> None:
    del rest
    await session.abort()


async def _steer(session: "Session", rest: str) -> None:
    if not rest:
        raise Refused("usage", problem="/steer names what the turn at work is told")
    await session.say(rest, "steer")


async def _fork(session: "Session", rest: str) -> None:
    forked = await session.app.conversations.fork(
        session.talk.name, into=rest or session.talk.new_name(), by=session.options.by
    )
    session.switch(forked["name"])


async def _new(session: "Session", rest: str) -> None:
    session.switch(rest or session.talk.new_name())


async def _reset(session: "Session", rest: str) -> None:
    await session.app.conversations.reset(session.talk.name, reason=rest or "reset in a chat", by=session.options.by)
    session.teller.note("The next message begins with an empty history; what was said stays readable.")


async def _usage(session: "Session", rest: str) -> None:
    del rest
    total = session.app.decisions.usage(DecisionFilter(conversation=session.talk.name))["total"]
    names = ("asked", "decisions", "failed", "lost", "open", "input_tokens", "output_tokens", "unmeasured", "unpriced")
    cost = None if total["cost_micros"] is None else f"{total['cost_micros'] / 1_000_000:f} USD"
    shown: dict[str, Any] = {name: total[name] for name in names} | {"cost": cost}
    for each in _budgets(session):
        of = f"{each['kind']} {each['of']}" if each["of"] else each["kind"]
        name = f"{of} ({each['name'] or 'this turn'})"
        shown[name] = f"{each['used']} of {each['limit']}, {each['reserved']} reserved, owner {each['owner']}"
    session.teller.draw(partial(_fields, shown))


def _budgets(session: "Session") -> Sequence[Mapping[str, Any]]:
    current = session.teller.current
    return () if current is None else current.run["budgets"]


def _fields(named: Mapping[str, Any], console: "Console") -> None:
    fields(console, named)


async def _approve(session: "Session", rest: str) -> None:
    review, comment = _review(session, rest)
    await _answered(session, review, comment, approve=True)


async def _reject(session: "Session", rest: str) -> None:
    review, comment = _review(session, rest)
    await _answered(session, review, comment, approve=False)


async def _revise(session: "Session", rest: str) -> None:
    review, comment = _review(session, rest)
    if not comment:
        raise Refused("usage", problem="/revise says what the next version is to be like")
    await _answered(session, review, comment, approve=False, ask_revision=True)


async def _answered(
    session: "Session", review: Mapping[str, Any], comment: str, *, approve: bool, **more: bool
) -> None:
    answered = await session.reviewer.answer(review, approve=approve, comment=comment, **more)
    session.teller.draw(lambda console: pages.answered(console, answered | {"review_id": f"rev-{review['number']}"}))
    session.drive()


def _review(session: "Session", rest: str) -> tuple[Mapping[str, Any], str]:
    """The review that was shown, named where there are several; and what stands behind its name."""
    named = _REVIEW.match(rest)
    comment = rest if named is None else rest[named.end() :].strip()
    if named is not None and int(named[1]) in session.teller.reviews:
        return session.teller.reviews[int(named[1])], comment
    if named is not None or not session.teller.reviews:
        raise Refused("usage", problem="no such review of this conversation is open here")
    if len(session.teller.reviews) > 1:
        names = ", ".join(f"rev-{number}" for number in session.teller.reviews)
        raise Refused("usage", problem=f"several reviews are open; name one of {names} behind the word")
    return next(iter(session.teller.reviews.values())), comment


async def _help(session: "Session", rest: str) -> None:
    del rest
    told = {f"/{name}": word.about for name, word in WORDS.items()} | KEYS
    session.teller.draw(partial(_fields, told))


async def _quit(session: "Session", rest: str) -> None:
    del rest
    session.left = True


WORDS: dict[str, Word] = {
    "abort": Word("cancel the turn at work: nothing more of it is sent; Ctrl-C does the same", _abort),
    "steer": Word("TEXT: tell the turn at work something before its model is asked again", _steer),
    "approve": Word("[rev-N] [COMMENT]: approve exactly the proposal that is shown, once", _approve),
    "reject": Word("[rev-N] [COMMENT]: reject it; the model hears the comment", _reject),
    "revise": Word("[rev-N] COMMENT: reject it, and ask for the next version", _revise),
    "fork": Word("[NAME]: go on in another conversation that shares the past", _fork),
    "new": Word("[NAME]: begin another conversation", _new),
    "reset": Word("[REASON]: later messages begin with an empty history", _reset),
    "usage": Word(
        "what models were asked, used and cost in this conversation, and the budgets of its newest turn", _usage
    ),
    "help": Word("this", _help),
    "quit": Word("leave; the turn at work goes on where a worker drives it; Ctrl-D does the same", _quit),
}
KEYS = {
    "Ctrl-C": "abort the turn at work; a second time without a line between leaves",
    "Ctrl-D": "leave",
    "Ctrl-U, Ctrl-W": "erase the line, the last word",
    "//...": "a message that begins with a slash",
}
