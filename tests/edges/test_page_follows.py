"""What is committed while a page is being made is told by the page's stream: it is in neither of them otherwise."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.app.access import Actor
from counterfoil.app.desk.evidence import DeskEvidence
from counterfoil.console.asgi import asgi
from tests.engine.house import House, Order
from tests.engine.writes import create_case, writing

OSCAR = Actor("oscar", "secret")
SEEN = re.compile(r"/live/runs/run-1\?seen=(-?\d+)")


@pytest.mark.parametrize(
    ("path", "part"), [("/runs/run-1", "entries"), ("/operations/op-1", "actions"), ("/reviews/rev-1", "question")]
)
def test_it_is_newer_than_what_the_stream_counts_as_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, part: str
) -> None:
    house = House(tmp_path, monkeypatch)
    workflow = writing(house.app, create_case(house.app, review=True))
    house.found()
    asyncio.run(one_that_waits(house, workflow))
    read = getattr(DeskEvidence, part)

    def then_changed(self: DeskEvidence, *args: Any, **options: Any) -> Any:
        shown = read(self, *args, **options)
        asyncio.run(house.app.runs.cancel("run-1", by=OSCAR, reason="while the page is made"))
        return shown

    monkeypatch.setattr(DeskEvidence, part, then_changed)
    page = asyncio.run(page_of(house, path))
    seen = SEEN.search(page)
    assert seen and int(seen[1]) < house.app.evidence.newest("run-1")["sequence"]
    house.app.close()


async def one_that_waits(house: House, workflow: Any) -> None:
    async with house.working():
        run = await house.app.submit(workflow, Order(number="1"), request_id="r-1")
        await house.state(run.run_id, "waiting")


async def page_of(house: House, path: str) -> str:
    transport = httpx2.ASGITransport(asgi(house.app, development=True, person="ana"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        page = await browser.get(path)
    assert page.status_code == 200, page.text
    return page.text
