"""After a restore the windows of keys count from what the ledger knew, not from when somebody opened it."""

import asyncio

from counterfoil.engine.administration import RegisterWorker
from counterfoil.engine.port import Run
from tests.engine.house import BUDGET, House, Order

DAY_S = 86_400


def test_rows_that_are_written_before_the_restore_begins_move_no_window(house: House) -> None:
    house.found()

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        return order.number

    async def play() -> None:
        await house.app.submit(flow, Order(number="1"), request_id="1")
        with house.app.open().read() as reader:
            known = max(entry.at for _, entry in reader.journal())
        house.clock.advance(2 * DAY_S)
        house.ask(RegisterWorker("wrk_later", "host", "boot", 1, {}, None))  # as a host that asks to join: no entry
        assert house.app.open().installation().clock_us > known
        await house.app.restore.begin(by="ana", reason="The disk came from a backup.")
        assert house.app.open().installation().restored_head_at == known

    asyncio.run(play())
