"""Tell a collector what happened: traces from the journal, by one process at a time; metrics from every process."""

import asyncio
from typing import TYPE_CHECKING

from counterfoil import settings
from counterfoil.app.tracing.otlp import Otlp
from counterfoil.app.tracing.span import Span
from counterfoil.app.tracing.telling import RunTelling
from counterfoil.engine.duties import DutyDone, TakeDuty
from counterfoil.engine.problem_log import log
from counterfoil.model.duty import DutyRecord
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.port import Reader

if TYPE_CHECKING:
    from counterfoil.app.application import App
    from counterfoil.engine.opened import Opened

SECOND_US = 1_000_000
TRACES = "traces"
LEASE_US = 10 * SECOND_US
EVERY_US = SECOND_US  # how soon the journal is looked at again
AGAIN_US = 5 * SECOND_US  # after a collector that did not take it
METRICS_US = 15 * SECOND_US
STRETCH = 1_000  # entries told in one step
REMEMBERED = 10_000  # runs


def endpoint_of() -> str:
    """The collector's address, or nothing: COUNTERFOIL_OTEL, else OTEL_EXPORTER_OTLP_ENDPOINT; `off` for neither."""
    given = settings.value_of("COUNTERFOIL_OTEL")
    return "" if given == "off" else given or settings.environment().get("OTEL_EXPORTER_OTLP_ENDPOINT", "")


async def exporting_of(app: "App") -> "Exporting | None":
    """This process's share, or None where nobody is to be told.

    Raises CounterfoilError(tool_missing) where COUNTERFOIL_OTEL names a collector and the extra is not there. The standard
    variable may be meant for other programs: then its absence is only said.
    """
    endpoint = endpoint_of()
    if not endpoint:
        return None
    try:
        exporting = Exporting(app, endpoint)
    except CounterfoilError as problem:
        if settings.value_of("COUNTERFOIL_OTEL"):
            raise
        log.warning("no telemetry: %s", problem)
        return None
    await exporting.begin()
    return exporting


class Exporting:
    """One process's share. Several processes may have one each: a lease says whose traces' turn it is.

    A collector hears of a stretch of the journal before it is marked as told. So nothing is left out, and only a process that
    is killed between the two tells a stretch again, with the very same ids.
    """

    def __init__(self, app: "App", endpoint: str) -> None:
        self._app = app
        opened = app.open()
        self.holder = f"otl_{opened.chance.hex(80)}"
        self._otlp = Otlp(endpoint, opened.registry.name, self.holder, opened.clock.now_us())
        self._runs: dict[str, RunTelling] = {}
        self._mark = -1
        self._metrics_at = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`, and once more then. A collector that is away is tried again; nothing is raised."""
        clock = self._app.open().clock
        await self._quietly()
        while not stop.is_set():
            await clock.wait(stop, clock.now_us() + EVERY_US)
            await self._quietly()
        await self._quietly(at_the_end=True)
        self._otlp.close()

    async def begin(self) -> None:
        """Where traces were never told before, they begin here: a collector is not sent the whole past."""
        opened = self._app.open()
        with opened.read() as reader:
            known, newest = reader.get(DutyRecord, TRACES), reader.upkeep.newest_ordinal()
        if known is None and await opened.write(self._taking()) is not None:
            await opened.write(self._done(None, 0, newest))

    async def tell_traces(self) -> int:
        """Tell all that the journal has and nobody told, if it is our turn. Gives how many spans."""
        opened = self._app.open()
        told = 0
        while True:
            with opened.read() as reader:
                known, newest = reader.get(DutyRecord, TRACES), reader.upkeep.newest_ordinal()
            if known is not None and known.mark >= newest:
                return told
            duty: DutyRecord | None = await opened.write(self._taking())
            if duty is None:
                return told
            spans, upto = self._stretch(opened, min(duty.mark, newest))
            taken = not spans or await asyncio.to_thread(self._otlp.send_spans, spans)
            if not taken:
                await opened.write(self._done("the collector did not take them", AGAIN_US))
                log.warning("traces: the collector did not take them; they are told again")
                return told
            await opened.write(self._done(None, 0, upto))
            told += len(spans)

    def _taking(self) -> TakeDuty:
        now = self._app.open().clock.now_us()
        return TakeDuty(TRACES, self.holder, now, every_us=AGAIN_US, lease_us=LEASE_US)

    def _done(self, problem: str | None, again_us: int, mark: int | None = None) -> DutyDone:
        return DutyDone(TRACES, self.holder, self._app.open().clock.now_us(), problem, again_us, mark)

    async def tell_metrics(self) -> bool:
        """Tell every metric as it is now."""
        now = self._app.open().clock.now_us()
        readings = self._app.metrics.readings()
        return await asyncio.to_thread(self._otlp.send_metrics, readings, now)

    async def _quietly(self, *, at_the_end: bool = False) -> None:
        try:
            await self.tell_traces()
            now = self._app.open().clock.now_us()
            if at_the_end or now - self._metrics_at >= METRICS_US:
                self._metrics_at = now
                await self.tell_metrics()
        except CounterfoilError as problem:  # the database is locked, full or gone
            log.error("telemetry: %s", problem)

    # ------------------------------------------------------------------ spans

    def _stretch(self, opened: "Opened", after: int) -> tuple[list[Span], int]:
        if after != self._mark or len(self._runs) > REMEMBERED:
            self._runs.clear()  # another process told on, or this one in vain: what is remembered is behind or ahead
        with opened.read() as reader:
            upto = min(after + STRETCH, reader.upkeep.newest_ordinal())
            spans: list[Span] = []
            for entry in reader.figures.stretch(after, upto):
                if entry.run_id == opened.installation_id:
                    continue
                spans += self._telling(entry.run_id, entry.sequence, reader).tell(entry, reader)
        self._mark = upto
        return spans, upto

    def _telling(self, run_id: str, sequence: int, reader: Reader) -> RunTelling:
        """What is remembered of a run; of one that is new here, what its entries before say."""
        known = self._runs.get(run_id)
        if known is None:
            known = self._runs[run_id] = RunTelling(run_id)
            for entry in reader.entries(run_id, limit=sequence):
                for _ in known.tell(entry, reader):
                    pass
        return known
