"""A grant for one operation's name: its pages open in the console, and the run around it stays closed."""

import asyncio
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from counterfoil.app import App
from tests.edges.api_bench import Served, served


def test_a_grant_for_one_operation_opens_its_pages_and_not_the_run_around_it(tmp_path: Path) -> None:
    with served(tmp_path) as here:
        _walked(here)


def _walked(here: Served) -> None:
    async def narrow(app: App) -> str:
        await app.people.add("pat", roles=["narrow"], secret="a secret of pat")
        for verb in ("read", "answer", "resolve"):
            await app.access.grants.grant("narrow", verb, operation="place_order")
        made = await app.access.tokens.create("pat", name="a test", expires_in=timedelta(days=1))
        return str(made["token"])

    with here.environment(), closing(App("grants", db=str(here.database))) as app:
        pat = {"Authorization": f"Bearer {asyncio.run(narrow(app))}"}
    review = here.raw("GET", "/api/v1/reviews?state=open", headers=pat).json()["data"]["items"][0]
    operation, run = review["operation_id"], review["run_id"]
    for path in (f"/reviews/{review['review_id']}", f"/operations/{operation}", f"/operations/{operation}/resolve"):
        page = here.raw("GET", path, headers=pat)
        assert page.status_code == 200, path
        assert "/runs/run-" not in page.text, path
    assert here.raw("GET", f"/runs/{run}", headers=pat).status_code == 404
