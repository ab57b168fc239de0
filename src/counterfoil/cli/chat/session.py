"""One chat: what is typed and what is watched, dealt with one after the other."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.cli.chat.answering import Reviewer
from counterfoil.cli.chat.beside import Beside
from counterfoil.cli.chat.keyboard import Keyboard, Lines
from counterfoil.cli.chat.screen import CURSOR, Paper, Screen
from counterfoil.cli.chat.talk import Options, Talk
from counterfoil.cli.chat.teller import Teller
from counterfoil.cli.chat.told import NOTE, Line, said_by_user
from counterfoil.cli.streams import Unwritten
from counterfoil.model.errors import CounterfoilError, Refused

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.cli.invocation import Invocation

PIECES_US = 40_000  # pieces that come closer together are drawn as one
LOOK_US = 2_000_000  # how often it is looked whether anybody still drives
FAILED, WAITS = 1, 5
NOBODY = "No worker drives this agent's turns; start one: counterfoil worker"
_HOW = {
    "follow_up": "It waits for the turn before it.", "existing": "It was said before under this request id; nothing was sent again.",
    "steer": "For the turn at work, which reads it before its model is asked again.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Typed:
    """A line; None is the end of the input."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Watched:
    """An item of a conversation's watch, or why it broke."""

    conversation: str
    item: Mapping[str, Any] | Exception


@dataclass(frozen=True, slots=True)
class Signalled:
    """`leaves`: told to end; else Ctrl-C."""

    leaves: bool


Happened = Typed | Watched | Signalled
Handle = Callable[["Session", str | None], Awaitable[None]]


class Session:
    """Everything is done in `run`; what reads, watches and hears signals only notes what happened.

    `alone`: before a person, in a terminal. Elsewhere the next line is read when the turn before has ended, or waits for a person.
    """

    def __init__(self, invocation: "Invocation", app: "App", options: Options) -> None:
        streams = invocation.streams
        self.app, self.options = app, options
        self.alone = streams.interactive and streams.out.isatty()
        self.talk = Talk(app, options)
        self.reviewer = Reviewer(invocation, app, options.reviewer or options.by, options.secret_file, self.ask)
        self.beside = Beside(invocation, app, self.talk.agent, options.worker)
        self.left = False
        self._screen = Screen(streams) if self.alone else Paper(streams)
        self.teller = Teller(app, self._screen, self.reviewer, self.talk.agent)
        self._clock = app.open().clock
        self._happened: list[Happened] = []
        self._arrived = asyncio.Event()
        self._keyboard = Keyboard(streams, self._typed, self._redraw) if self.alone else Lines(self._typed)
        self._following: asyncio.Future[None] | None = None
        self._question: tuple[str, bool, asyncio.Future[str]] | None = None
        self._interrupted = False

    # ------------------------------------------------------------------ the loop

    async def run(self, handle: Handle) -> int:
        """Until the person leaves, or the input ends. Gives the exit status. `handle` deals with a line."""
        known = self.talk.known()
        with ExitStack() as stack:
            stack.enter_context(self._screen)
            stack.enter_context(self._keyboard)
            self._listen(stack)
            self.teller.note(f"conversation {self.talk.name} with {self.talk.agent}; /help says what can be typed")
            try:
                if known:
                    self._follow()
                if self.talk.at_work() is not None:
                    self.drive()
                while not self.left:
                    self._redraw()
                    self._read_on()
                    await self._deal_with(await self._batch(), handle)
            finally:
                self._unfollow()
                with suppress(Unwritten):  # the terminal is gone
                    self._screen.show([], "The worker of this chat ends; Ctrl-C ends it at once. ")
                await self.beside.end()
        return self._status()

    async def _batch(self) -> list[Happened]:
        """What has happened since, in order. Meanwhile whoever drives the turn at work may end: it is looked again and again."""
        while not self._happened:
            self._arrived.clear()
            now = self._clock.now_us()
            if not await self._clock.wait(self._arrived, now + LOOK_US) and self.talk.at_work() is not None:
                self.drive()
        found, self._happened = self._happened, []
        return found

    def _put(self, happened: Happened) -> None:
        self._happened.append(happened)
        self._arrived.set()

    async def _deal_with(self, batch: Sequence[Happened], handle: Handle) -> None:
        """What was watched first: whoever types has seen less."""
        items = self._items(batch)
        self.teller.watched(items)
        for each in batch:
            try:
                if isinstance(each, Signalled):
                    await self._interrupt(each)
                elif isinstance(each, Typed):
                    self._interrupted = False
                    await handle(self, each.text)
            except CounterfoilError as refused:
                if not self.alone:
                    raise  # a script cannot answer it, and must not go on as if nothing had been refused
                self.teller.refused(refused)
            if self.left:
                return
        if items:
            self._redraw()
            await self._clock.wait(asyncio.Event(), self._clock.now_us() + PIECES_US)

    def _items(self, batch: Sequence[Happened]) -> list[Mapping[str, Any]]:
        """Of the conversation that we are in. Raises what broke its watch."""
        items: list[Mapping[str, Any]] = []
        for each in batch:
            if not isinstance(each, Watched) or each.conversation != self.talk.name:
                continue
            if isinstance(each.item, Exception):
                raise each.item
            items.append(each.item)
        return items

    def _read_on(self) -> None:
        """Elsewhere than in a terminal: the next line, once what was said before has been told to its end."""
        current = self.teller.current
        waits = not self.alone and self.waits()
        if waits and current is not None:  # its watch may be behind the record: what it waits for is told first
            self.teller.look(current.run["run_id"])
        told = current is None or not current.at_work
        if self.alone or waits or (told and self.talk.at_work() is None):
            self._keyboard.more()

    def _status(self) -> int:
        current = self.teller.current
        if self.alone or current is None:
            return 0
        return FAILED if current.run["state"] in ("failed", "cancelled") else WAITS if self.waits() else 0

    # ------------------------------------------------------------------ what a person does

    async def say(self, text: str, when_busy: str | None = None) -> None:
        """A message: accepted for good, and only then shown as said. Raises Refused as `app.conversations.send`."""
        sent = await self.talk.say(text, when_busy)
        self.teller.tell(said_by_user(sent["run_id"], text))
        if sent["admitted"] in _HOW:
            self.teller.note(_HOW[sent["admitted"]])
        if sent["admitted"] in ("new", "existing"):
            self.teller.look(sent["run_id"])
        self._follow()
        self.drive()

    async def abort(self) -> None:
        """Cancel the turn at work. Raises Refused(nobody_at_work)."""
        aborted = await self.talk.abort()
        self.teller.note(f"run-{aborted['number']}: {aborted['sentence']}")

    def drive(self) -> None:
        """See that somebody drives the turn."""
        if not self.beside.ensure():
            told = Line(("no worker", self.talk.at_work()), NOBODY, style=NOTE)
            self.teller.tell(told)

    def switch(self, name: str) -> None:
        """Go on in another conversation. Raises Refused(other_agent): then nothing has changed."""
        before, self.talk.name = self.talk.name, name
        try:
            known = self.talk.known()
        except Refused:
            self.talk.name = before
            raise
        self._unfollow()
        self.teller.forget()
        self.teller.note(f"conversation {name}")
        if known:
            self._follow()

    def waits(self) -> bool:
        """Whether a person must move the turn that was told last."""
        current = self.teller.current
        return current is not None and self.talk.waits(current.run["run_id"])

    def give_back(self, text: str) -> None:
        """What was not sent stands in the line again."""
        self._keyboard.line.text = text

    async def ask(self, question: str, hidden: bool) -> str:
        """A line from the person. Raises Refused(usage) where nobody answers."""
        if not self.alone:
            raise Refused("usage", problem=f"nobody can be asked: {question}")
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._question = (question, hidden, answer)
        self._redraw()
        try:
            return await answer
        finally:
            self._question = None

    # ------------------------------------------------------------------ what happens

    def _typed(self, text: str | None) -> None:
        if self._question is not None:
            self._answered(text)
        else:
            self._put(Typed(text))

    def _answered(self, text: str | None) -> None:
        assert self._question is not None, "only a question is answered"
        answer = self._question[2]
        if answer.done():
            return
        if text is None:
            answer.set_exception(Refused("usage", problem="it was not answered, and nothing was done"))
        else:
            answer.set_result(text)

    def _listen(self, stack: ExitStack) -> None:
        loop = asyncio.get_running_loop()
        for number, leaves in ((signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, True)):
            loop.add_signal_handler(number, self._signalled, leaves)
            stack.callback(loop.remove_signal_handler, number)
        loop.add_signal_handler(signal.SIGWINCH, self._redraw)
        stack.callback(loop.remove_signal_handler, signal.SIGWINCH)

    def _signalled(self, leaves: bool) -> None:
        if self.left:
            self.beside.stop()
        if self._question is not None:
            self._answered(None)
            if not leaves:
                return
        self._put(Signalled(leaves))

    async def _interrupt(self, how: Signalled) -> None:
        """The first Ctrl-C aborts the turn at work, the second one leaves."""
        if how.leaves or self._interrupted:
            self.left = True
            return
        self._interrupted = True
        self._keyboard.line.text = ""
        if self.talk.at_work() is None:
            self.teller.note("Nobody is at work. Ctrl-C again leaves.")
        else:
            await self.abort()
            self.teller.note("Ctrl-C again leaves.")

    def _follow(self) -> None:
        if self._following is None:
            self._following = asyncio.ensure_future(self._watch(self.talk.name))

    def _unfollow(self) -> None:
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _watch(self, name: str) -> None:
        try:
            async for item in self.app.conversations.watch(name):
                self._put(Watched(name, item))
        except Exception as problem:
            self._put(Watched(name, problem))

    def _redraw(self) -> None:
        typed = self._keyboard.line.text
        if self._question is None:
            self._screen.show(self.teller.provisional(), CURSOR, typed)
        else:
            question, hidden, _ = self._question
            self._screen.show([], f"{question}: ", "*" * len(typed) if hidden else typed)
