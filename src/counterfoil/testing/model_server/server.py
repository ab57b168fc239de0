"""The model server: counts requests, answers each differently, and can say what it would answer next."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from counterfoil.testing.loopback.exchange import Exchange, Reply, Request, error_reply
from counterfoil.testing.loopback.faults import Faults
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.stand_in import Body, StandIn
from counterfoil.testing.model_server import chat_completions, responses
from counterfoil.testing.model_server.questions import Answer, Question, ask
from counterfoil.testing.model_server.scripts import Script, read_script
from counterfoil.testing.model_server.streaming import CUT, ENDED, HELD, send_pieces

REFUSE = "refuse"
FAULTS = frozenset(
    {"drop-reply", "slow", "hang", "garbage", "error-after-accept", "error-before-accept", REFUSE, CUT, ENDED, HELD}
)
"""REFUSE answers 401, or the status that the fault names. The last three are faults of a streamed answer: half of it comes,
then nothing, an end, or the rest after a `release`."""
_PROTOCOLS = {"/v1/chat/completions": chat_completions, "/v1/responses": responses}
_ERRORS = {
    "error-after-accept": error_reply(500, "internal", "something failed after the request was accepted"),
    "error-before-accept": error_reply(503, "unavailable", "nothing was accepted"),
}


class ModelServer(StandIn):
    """A model that is never the same twice. What the `script` says comes first."""

    def __init__(self, script: Script, faults: Faults) -> None:
        super().__init__(faults)
        self._script = script
        self._last: Question | None = None
        self._answered = 0
        self._lock = threading.Lock()

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Answer a request in either protocol."""
        protocol = _PROTOCOLS.get(request.path)
        if protocol is None or request.method != "POST":
            exchange.send(error_reply(404, "not_found", f"there is no {request.method} {request.path}"))
            return
        try:
            question = protocol.question_in(request.json_object())
        except ValueError as reason:
            exchange.send(error_reply(400, "bad_request", str(reason)))
            return
        fault = self.faults.take()
        answer = self._answer(question)
        self.traffic.count("requests")
        shown = {"n": answer.n, "path": request.path, "model": question.model, "answer_digest": answer.digest}
        self.traffic.note({**shown, "fault": None if fault is None else fault.name})
        created = int(time.time())
        if question.streamed and (fault is None or fault.name in (CUT, ENDED, HELD)):
            pieces = list(protocol.stream_of(question, answer, created=created))
            send_pieces(exchange, pieces, fault, self.released, lambda: self.traffic.count("decided"))
            return
        self.traffic.count("decided")
        exchange.hold(fault)
        if question.streamed and fault is not None and fault.name == "slow":
            send_pieces(exchange, list(protocol.stream_of(question, answer, created=created)))
            return
        if fault is not None and fault.name == REFUSE:
            told = {
                "message": "Incorrect API key provided.",
                "type": "invalid_request_error",
                "code": "invalid_api_key",
            }
            exchange.send(Reply(fault.status or 401, {"error": told}))
            return
        reply = Reply(200, protocol.reply_with(question, answer, created=created))
        exchange.deliver(reply if fault is None else _ERRORS.get(fault.name, reply), fault)

    def state(self) -> Body:
        """The counters, and the digest of what the last request would be answered next."""
        following = self._next()
        return {**self.counts("requests"), "next_answer_digest": None if following is None else following.digest}

    def views(self) -> Mapping[str, Callable[[], object]]:
        """Also `next-answer`."""
        return {**super().views(), "next-answer": self.next_answer}

    def next_answer(self) -> Body:
        """`GET next-answer`: {tool, answer, digest} for the last request if it came again; all null before the first."""
        following = self._next()
        if following is None:
            return {"tool": None, "answer": None, "digest": None}
        return {"tool": following.tool, "answer": following.value, "digest": following.digest}

    def _answer(self, question: Question) -> Answer:
        with self._lock:
            self._answered += 1
            self._last = question
            return ask(question, self._answered, self._script)

    def _next(self) -> Answer | None:
        with self._lock:
            return None if self._last is None else ask(self._last, self._answered + 1, self._script)


def serve(*, script: Path | None = None, fault: str | None = None, port: int = 0) -> None:
    """Serve until standard input closes, after one JSON line {url, control_url, pid, records_file: null, base_url} on stdout.

    `script` is a file that `read_script` reads; where it says nothing, answers are made.
    ValueError for a script or a fault that does not fit; OSError for a file or a port.
    """
    faults = Faults(FAULTS)
    if fault is not None:
        faults.arm_text(fault)
    played = Script() if script is None else read_script(script)
    server = LoopbackServer(ModelServer(played, faults), port)
    serve_until_input_closes(server, {"records_file": None, "base_url": server.url + "/v1"})
