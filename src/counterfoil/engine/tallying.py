"""Keep what was counted, with how far: both in one commit, so nothing counts twice and nothing is left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model.duty import SampleRecord, SpanRecord, TallyRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

JOURNAL = ("journal", "{}")  # the tally that says how far the journal is counted


@dataclass(frozen=True, slots=True)
class KeepTallies(RunVerb):
    """Add what the journal says from `after` to `upto`. Gives False, and keeps nothing, when another process has counted on."""

    after: int
    upto: int
    totals: tuple[TallyRecord, ...]
    spans: tuple[SpanRecord, ...]
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        tallies = [Read.key(TallyRecord, each.metric, each.labels) for each in self.totals]
        spans = [Read.key(SpanRecord, span.span_id) for span in self.spans]
        return [Read.key(TallyRecord, *JOURNAL), *tallies, *spans]

    def decide(self, tx: Transaction) -> bool:
        counted = tx.get(TallyRecord, *JOURNAL)
        if (0 if counted is None else counted.value) != self.after:
            return False
        for each in self.totals:
            known = tx.get(TallyRecord, each.metric, each.labels)
            tx.put(each if known is None else replace(each, value=known.value + each.value))
        for span in self.spans:
            tx.put(span)
        tx.put(TallyRecord(*JOURNAL, float(self.upto)))
        return True


@dataclass(frozen=True, slots=True)
class KeepSamples(RunVerb):
    """Store samples, and delete what is too old or too close together. One that is there already stays."""

    samples: tuple[SampleRecord, ...]
    thinned: tuple[tuple[str, str, int], ...] = ()
    forgotten: tuple[str, ...] = ()
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return [Read.key(SampleRecord, each.metric, each.labels, each.at) for each in self.samples]

    def decide(self, tx: Transaction) -> int:
        kept = 0
        for each in self.samples:
            if tx.get(SampleRecord, each.metric, each.labels, each.at) is None:
                tx.put(each)
                kept += 1
        for key in self.thinned:
            tx.drop(SampleRecord, *key)
        for span_id in self.forgotten:
            tx.drop(SpanRecord, span_id)
        return kept
