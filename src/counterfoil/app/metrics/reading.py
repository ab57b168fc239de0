"""Every metric at this moment: gauges from the tables by index, the rest from what was counted."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from counterfoil.app.metrics.counting import AMBIGUOUS, CRASH
from counterfoil.app.metrics.values import Histogram, Reading, Totals, Value, values_of
from counterfoil.engine.definitions import Registry
from counterfoil.engine.opened import Opened
from counterfoil.model import metrics
from counterfoil.model.metrics import METRICS, Metric
from counterfoil.model.run import ParkReason
from counterfoil.model.slots import TapRecord
from counterfoil.store.port import Reader

SECOND_US = 1_000_000


def read_all(opened: Opened, reader: Reader, totals: Totals) -> list[Reading]:
    """All metrics, in the order of the catalogue. `totals` is what was counted up to this snapshot."""
    gauges = _Gauges(opened.registry, reader, opened.clock.now_us())
    process = opened.commits
    installation = reader.installation
    of: dict[str, Callable[[], list[Value]]] = {
        metrics.UNRESOLVED.name: gauges.unresolved,
        metrics.UNRESOLVED_OLDEST.name: gauges.unresolved_oldest,
        metrics.REVIEWS_OPEN.name: gauges.reviews_open,
        metrics.REVIEW_AGE.name: gauges.review_age,
        metrics.RUNS_PARKED.name: gauges.parked,
        metrics.RECEIVERS_PAUSED.name: gauges.paused,
        metrics.RECEIPTS_ORPHANED.name: gauges.orphans,
        metrics.DUPLICATES_OPEN.name: lambda: [Value({}, reader.figures.open_incidents())],
        metrics.COMMITS.name: lambda: [Value({}, 0 if installation is None else installation.batches)],
        metrics.COMMIT_DURATION.name: lambda: [
            Value({}, Histogram(tuple(process.counts), process.total_us / SECOND_US))
        ],
    }

    def values(metric: Metric) -> list[Value]:
        if metric.name in of:
            return of[metric.name]()
        return _with_zeros(metric, values_of(totals, metric), opened.registry)

    return [Reading(metric, tuple(values(metric))) for metric in METRICS]


class _Gauges:
    """What stands open now. Where the application names an operation or a role, it is 0 and not missing."""

    def __init__(self, registry: Registry, reader: Reader, now: int) -> None:
        self._registry = registry
        self._reader = reader
        # The database's time never goes back: after a wall clock that did, it is ahead of this host's.
        self._now = max(now, reader.installation.clock_us if reader.installation else 0)
        self._unresolved = {(r, o): (count, since) for r, o, count, since in reader.figures.unresolved(self._now)}
        self._opened: dict[str, list[int]] = defaultdict(list)
        for role, opened_at in reader.figures.open_reviews():
            self._opened[role].append(opened_at)

    def unresolved(self) -> list[Value]:
        return [Value(_operation(*key), self._unresolved.get(key, (0, 0))[0]) for key in self._operations()]

    def unresolved_oldest(self) -> list[Value]:
        since = {key: oldest for key, (_, oldest) in self._unresolved.items()}
        return [Value(_operation(*key), self._age(since.get(key))) for key in self._operations()]

    def reviews_open(self) -> list[Value]:
        return [Value({"role": role}, len(self._opened[role])) for role in self._roles()]

    def review_age(self) -> list[Value]:
        found: list[Value] = []
        for role in self._roles():
            ages = self._opened[role]  # the longest open first
            middle = ages[len(ages) // 2] if ages else None
            found.append(Value({"role": role, "which": "oldest"}, self._age(ages[0] if ages else None)))
            found.append(Value({"role": role, "which": "median"}, self._age(middle)))
        return found

    def parked(self) -> list[Value]:
        now = self._reader.figures.parked()
        return [Value({"reason": reason.value}, now.get(reason.value, 0)) for reason in ParkReason]

    def paused(self) -> list[Value]:
        taps = {tap.receiver: tap for tap in self._reader.rows(TapRecord)}
        found: list[Value] = []
        for name in sorted(self._registry.receivers.keys() | taps.keys()):
            tap, defined = taps.get(name), self._registry.receivers.get(name)
            by_person = tap is not None and tap.paused_at is not None
            open_until = None if tap is None or defined is None or defined.breaker is None else tap.open_until
            found.append(Value({"receiver": name, "by": "person"}, int(by_person)))
            found.append(Value({"receiver": name, "by": "breaker"}, int(open_until is not None)))
        return found

    def orphans(self) -> list[Value]:
        found = self._reader.received.orphans()
        listening = {each.name for each in self._registry.receivers.values() if each.webhook is not None}
        return [Value({"receiver": name}, found.get(name, 0)) for name in sorted(listening | found.keys())]

    def _age(self, since: int | None) -> float:
        return 0.0 if since is None else max(0, self._now - since) / SECOND_US

    def _operations(self) -> list[tuple[str, str]]:
        return sorted(set(_operations(self._registry)) | set(self._unresolved))

    def _roles(self) -> list[str]:
        reviews = (operation.review for operation in self._registry.operations.values())
        return sorted({review.role for review in reviews if review is not None} | set(self._opened))


def _operations(registry: Registry) -> Iterable[tuple[str, str]]:
    return ((operation.receiver, operation.name) for operation in registry.operations.values())


def _operation(receiver: str, operation: str) -> dict[str, str]:
    return {"receiver": receiver, "operation": operation}


def _with_zeros(metric: Metric, values: list[Value], registry: Registry) -> list[Value]:
    """A counter that has not counted yet is 0: a rate over it must see the first one."""
    known: list[dict[str, str]] = [] if metric.labels else [{}]
    if metric.labels == ("receiver", "operation"):
        known = [_operation(*key) for key in sorted(set(_operations(registry)))]
    elif metric is metrics.RECOVERY_DURATION:
        known = [{"cause": cause} for cause in (CRASH, AMBIGUOUS)]
    there = [value.labels for value in values]
    zero = Histogram((0,) * (len(metric.bounds) + 1), 0.0) if metric.bounds else 0
    return values + [Value(labels, zero) for labels in known if labels not in there]
