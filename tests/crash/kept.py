"""What a ledger must still hold when its disk came back."""

from counterfoil.model.operation import AttemptRecord, OperationRecord
from tests.crash.stage import Stage


def acknowledged(stage: Stage) -> list[tuple[str, int, str]]:
    file = stage.folder / "acknowledged"
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(run_id, int(sequence), head) for run_id, sequence, head in lines]


def check_nothing_lost(stage: Stage) -> None:
    known = {operation.operation_id: operation for operation in stage.rows(OperationRecord)}
    tried = {attempt.operation_id for attempt in stage.rows(AttemptRecord)}
    for write in stage.writes("key"):
        assert known[write["reference"]].sent and write["reference"] in tried, "sent, and its record is gone"
    for run_id, sequence, head in acknowledged(stage):
        entries = stage.entries(run_id)
        assert len(entries) > sequence and entries[sequence].digest.hex() == head, "acknowledged, and lost"
