"""Other bytes under a key that carried some: where other bytes are another effect they stay here, and the record says so."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from counterfoil.engine.advance import Advanced
from counterfoil.engine.attempts import MarkInFlight
from counterfoil.engine.reviews import Answer
from counterfoil.model.journal import EntryKind
from tests.unit import opened_ledger
from tests.unit.opened_ledger import KEYED, LOOKED_UP, SECOND, Filled, SetClock

assert KEYED.key is not None
BY_CONTENT = replace(LOOKED_UP, key=replace(KEYED.key, other_body="identity", retention=timedelta(hours=24)))


def test_other_bytes_stay_here_and_the_receiver_is_asked(tmp_path: Path) -> None:
    clock = SetClock()
    with opened_ledger.opened(tmp_path, clock=clock, contract=BY_CONTENT) as here:
        filled = Filled(here, clock, BY_CONTENT).submitted().claimed()
        filled.prepared()
        review = filled.asked()
        filled.ask(Answer(filled.run_id, review.review_id, review.operation_id, "ana", True, review.digest, "", False))
        filled.answered(filled.in_flight(), status=None)
        clock.now += 60 * SECOND
        end = clock.now + 30 * SECOND
        verb = MarkInFlight(filled.run_id, filled.target(), filled.fence, "wrk_1", "h", "b", "sha256:other", end)
        ruled = filled.ask(verb)
        assert isinstance(ruled, Advanced) and ruled.ruling.kind == "look_up"
        assert filled.operation().key_state == "mismatched" and filled.operation().attempts == 1
        with here.read() as reader:
            newest = reader.entries(filled.run_id)[-1]
        assert newest.kind is EntryKind.RULED and json.loads(newest.body)["data"]["key_state"] == "mismatched"
