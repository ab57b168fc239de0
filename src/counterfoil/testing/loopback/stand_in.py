"""What every stand-in has: armed faults, counted traffic, and a control address to see and change them."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.loopback.exchange import Exchange, Reply, Request, error_reply
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault, Faults
from counterfoil.testing.loopback.traffic import Traffic

Body = dict[str, object]
QUEUED = "queued"
"""A write has arrived whole, and nobody looks at it before a `release`: a request on its way."""


class StandIn(ABC):
    """One server on the loopback that stands in for something outside. Subclasses serve, and say what they show."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.traffic = Traffic()
        self.released = threading.Event()
        self._blind = False

    @abstractmethod
    def serve(self, exchange: Exchange, request: Request) -> None:
        """Serve a request that is not for the control address."""

    @abstractmethod
    def state(self) -> Body:
        """What `GET /_control` shows: the counters first of all."""

    def views(self) -> Mapping[str, Callable[[], object]]:
        """What can be seen, by the name after `/_control/`."""
        return {"": self.state, "requests": lambda: {"items": self.traffic.log()}}

    def commands(self) -> Mapping[str, Callable[[Body], object]]:
        """What can be done, by the name after `/_control/`."""
        return {"fault": self.arm, "wait": self.wait, "release": self.release, "blind": self.blind}

    def control(self, name: str, request: Request) -> Reply:
        """Answer `/_control/NAME`: LookupError for an unknown name, ValueError for a body that does not fit."""
        if request.method == "GET":
            return Reply(200, self.views()[name]())
        return Reply(200, self.commands()[name](request.json_object()))

    def queue(self) -> Fault | None:
        """Keep a write that has just arrived waiting, if it is to be `queued`. Bounded."""
        fault = self.faults.take({QUEUED})
        if fault is not None:
            self.released.wait(LONGEST_HOLD_SECONDS)
        return fault

    def arm(self, body: Body) -> object:
        """`POST fault {fault, count, seconds, status, body}`; `{"fault": null}` disarms everything."""
        name = body.get("fault")
        if name is None:
            self.faults.clear()
        else:
            seconds = None if body.get("seconds") is None else number(body, "seconds")
            status = None if body.get("status") is None else int(number(body, "status"))
            answer = None if body.get("body") is None else as_object(body["body"])
            count = int(number(body, "count", 1))
            self.released.clear()  # what is armed now is held again, and who was released has gone on
            self.faults.arm(str(name), count=count, seconds=seconds, status=status, body=answer)
        return {"faults": self.faults.names()}

    def wait(self, body: Body) -> object:
        """`POST wait {requests | arrived, seconds}`: until so many writes have been decided, or have come, since the start.

        At most a minute.
        """
        name, counter = ("arrived", "requests") if "arrived" in body else ("requests", "decided")
        wanted = int(number(body, name))
        seconds = min(number(body, "seconds", 30), LONGEST_HOLD_SECONDS)
        reached = self.traffic.wait_for(counter, wanted, seconds=seconds)
        return {"reached": reached, name: self.traffic.value(counter)}

    def release(self, body: Body) -> object:
        """`POST release`: what `slow` and `queued` hold back goes on now, and no later one is held before the next fault."""
        self.released.set()
        return {"released": True}

    def blind(self, body: Body) -> object:
        """`POST blind {on}`: whether reads are answered with 503, so that nobody can be asked."""
        self._blind = body.get("on") is True
        return {"blind": self._blind}

    def refused_read(self, request: Request) -> Reply | None:
        """The answer to a read while nobody can be asked."""
        return (
            None if request.is_write or not self._blind else error_reply(503, "unavailable", "nothing can be read now")
        )

    def counts(self, *names: str) -> Body:
        """The named counters and the armed faults."""
        return {**{name: self.traffic.value(name) for name in names}, "faults": self.faults.names()}


def number(body: Body, name: str, default: float | None = None) -> float:
    """A number in a control body. ValueError when it is missing without a default, or not a number."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is a number, not {value!r}")
    return float(value)
