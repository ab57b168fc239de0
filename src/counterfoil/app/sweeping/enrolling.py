"""Which closed operations are counted, and when."""

from datetime import timedelta

from counterfoil.engine.opened import Opened
from counterfoil.engine.sweeps import KeepSweeps
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract
from counterfoil.model.delivery import SweepRecord
from counterfoil.model.installation import ContractRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.store.port import Reader

MINUTE_US = 60 * 1_000_000
DAY_US = 24 * 60 * MINUTE_US
FIRST_US = 5 * MINUTE_US
PAUSES_US = (DAY_US, 7 * DAY_US, 30 * DAY_US)  # after the first, the second, the third question; then no more
OLDEST_US = sum(PAUSES_US)
AT_ONCE = 500
NAME = "sweep"


async def enrol(opened: Opened, mark: int) -> int:
    """Take in what was closed since `mark`. Gives up to where: a time of closing."""
    while True:
        with opened.read() as reader:
            found = reader.received.to_enrol(mark, AT_ONCE)
            rows = tuple(_row(opened, reader, each) for each in found)
        if rows:
            await opened.write(KeepSweeps(NAME, rows))
            mark = max(mark, *(row.closed_at for row in rows))
        if len(rows) < AT_ONCE:
            return mark


def delay_us(contract: Contract) -> int:
    """How long an effect may be hidden from the contract's lookup."""
    visible = contract.lookup.visible_within if contract.lookup is not None else None
    return (visible or timedelta(0)) // timedelta(microseconds=1)


def _row(opened: Opened, reader: Reader, operation: OperationRecord) -> SweepRecord:
    contract = Contract.from_stored(parsed(_stored(reader, operation)))
    closed = operation.closed_at or 0
    askable = contract.lookup is not None and opened.clock.now_us() - closed < OLDEST_US
    next_at = closed + FIRST_US + delay_us(contract) if askable else None
    return SweepRecord(operation.operation_id, operation.receiver, operation.name, closed, next_at)


def _stored(reader: Reader, operation: OperationRecord) -> str:
    found = reader.get(ContractRecord, operation.contract_digest)
    assert found is not None, "an operation's contract is stored with it"
    return found.body
