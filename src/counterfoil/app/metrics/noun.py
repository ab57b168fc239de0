"""The noun `metrics`: what every metric is now, and what it was."""

import json
from collections.abc import Callable
from threading import Lock
from typing import Any

from counterfoil.app.metrics.counting import Count
from counterfoil.app.metrics.reading import read_all
from counterfoil.app.metrics.values import Histogram, Reading, Totals, Value
from counterfoil.app.views.listing import listed
from counterfoil.engine.opened import Opened
from counterfoil.engine.tallying import JOURNAL, KeepSamples, KeepTallies
from counterfoil.model.duty import SampleRecord, TallyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.metrics import BY_NAME, Metric, MetricKind
from counterfoil.model.moments import rfc3339
from counterfoil.store.port import Reader

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 24 * 60 * MINUTE_US
WEEK_US = 7 * DAY_US
STRETCH = 5_000  # entries counted in one step
AT_ONCE = 2_000  # rows deleted in one commit


class Metrics:
    """`app.metrics`. Looking writes nothing; `sample` stores what was counted, so that looking stays cheap."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened
        self._ahead: Count | None = None  # what this process has counted beyond what is stored
        self._of: Opened | None = None
        self._lock = Lock()

    def readings(self) -> list[Reading]:
        """All metrics from one snapshot, in the order of the catalogue."""
        opened = self._opened()
        with self._lock, opened.read() as reader:
            return read_all(opened, reader, self._totals(opened, reader))

    def history(self, name: str, since: int) -> dict[str, Any]:
        """`{name, kind, unit, since, series: [{labels, points: [{at, value, per_second}]}]}` from a time in microseconds.

        `value` is the metric's at that moment, `per_second` a counter's mean rate since the point before it (null for the
        first, and for gauges). Series that were 0 all the time are left out. Raises Refused(not_found).
        """
        metric = BY_NAME.get(name.removeprefix("counterfoil_"))
        if metric is None:
            raise Refused("not_found", what="metric", id=name)
        opened = self._opened()
        with opened.read() as reader:
            samples = reader.figures.samples(metric.name, since)
        series: dict[str, list[SampleRecord]] = {}
        for sample in samples:
            series.setdefault(sample.labels, []).append(sample)
        drawn = [
            {"labels": json.loads(labels), "points": _points(metric, points)}
            for labels, points in series.items()
            if any(point.value for point in points)
        ]
        return {
            "name": metric.name, "kind": metric.kind.value, "unit": metric.unit, "since": rfc3339(since), "series": drawn,
        }  # fmt: skip

    async def sample(self) -> int:
        """Store what was counted, and the value of every gauge and counter, under this minute. Gives how many samples are new.

        Minute values are kept for a day, those of quarter hours for a week, spans that ended for a week.
        """
        opened = self._opened()
        await self.store_counted()
        now = opened.clock.now_us()
        at = now - now % MINUTE_US
        samples = tuple(
            SampleRecord(reading.metric.name, json.dumps(dict(value.labels), sort_keys=True), at, float(value.number))
            for reading in self.readings()
            for value in reading.values
            if reading.metric.of == "installation" and not isinstance(value.number, Histogram)
        )
        kept = 0
        while True:
            with opened.read() as reader:
                thinned = reader.figures.to_thin(now - DAY_US, now - WEEK_US, AT_ONCE)
                forgotten = reader.figures.to_forget(now - WEEK_US, AT_ONCE)
            kept += await opened.write(KeepSamples("metrics", samples, tuple(thinned), tuple(forgotten)))
            if len(thinned) < AT_ONCE and len(forgotten) < AT_ONCE:
                return kept
            samples = ()

    async def store_counted(self) -> None:
        """Count the journal to its end, and keep how far."""
        opened = self._opened()
        while True:
            with opened.read() as reader:
                after, newest = _stored(reader), reader.upkeep.newest_ordinal()
                if after >= newest:
                    return
                count = Count(after, after)
                count.go_on(reader, min(after + STRETCH, newest))
            totals = tuple(TallyRecord(*where, amount) for where, amount in count.totals.items())
            verb = KeepTallies("metrics", after, count.upto, totals, tuple(count.spans.values()))
            await opened.write(verb)  # where another process was first, what it has counted is read anew

    def _totals(self, opened: Opened, reader: Reader) -> Totals:
        """What is stored, and what the journal says since. What was counted here before is not counted again."""
        after, newest = _stored(reader), reader.upkeep.newest_ordinal()
        count = self._ahead
        if count is None or count.after != after or count.upto > newest or self._of is not opened:
            count = Count(after, after)
        while count.upto < newest:
            count.go_on(reader, min(count.upto + STRETCH, newest))
        self._ahead, self._of = count, opened
        totals: Totals = {(each.metric, each.labels): each.value for each in reader.rows(TallyRecord)}
        for where, amount in count.totals.items():
            totals[where] = totals.get(where, 0.0) + amount
        return totals

    def list(self) -> dict[str, Any]:
        """`{items: [METRIC], next_cursor: None}`.

        METRIC: {name, kind, unit, labels, of, definition, does_not_count, values: [{labels, value, histogram}]}. Of a
        histogram `value` is null and `histogram` is {count, sum, buckets: [{upto, count}]}, cumulative.
        """
        return listed([metric_view(reading) for reading in self.readings()], None)


def metric_view(reading: Reading) -> dict[str, Any]:
    """METRIC."""
    metric = reading.metric
    return {
        "name": metric.full_name, "kind": metric.kind.value, "unit": metric.unit, "labels": list(metric.labels), "of": metric.of,
        "definition": metric.definition, "does_not_count": metric.does_not_count,
        "values": [_value_view(metric, value) for value in reading.values],
    }  # fmt: skip


def _value_view(metric: Metric, value: Value) -> dict[str, Any]:
    number = value.number
    if not isinstance(number, Histogram):
        return {"labels": dict(value.labels), "value": number, "histogram": None}
    buckets = [{"upto": bound, "count": count} for bound, count in number.upto(metric.bounds)]
    histogram = {"count": number.count, "sum": number.total, "buckets": buckets}
    return {"labels": dict(value.labels), "value": None, "histogram": histogram}


def _stored(reader: Reader) -> int:
    known = reader.get(TallyRecord, *JOURNAL)
    return 0 if known is None else int(known.value)


def _points(metric: Metric, samples: list[SampleRecord]) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    before: SampleRecord | None = None
    for sample in samples:
        rate = None
        if metric.kind is MetricKind.COUNTER and before is not None and sample.value >= before.value:
            rate = (sample.value - before.value) * SECOND_US / (sample.at - before.at)
        points.append({"at": rfc3339(sample.at), "value": sample.value, "per_second": rate})
        before = sample
    return points
