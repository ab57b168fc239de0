"""The page Workers, by a real browser over a served worker: one is quieted, takes up nothing, and is woken."""

from playwright.sync_api import Page, expect

from tests.browser.house import House
from tests.edges.cli_bench import order


def state_of(here: House, number: str, *, wait: str) -> str:
    ended = here.cli.json(
        "submit", "parcel", "--input", "-", "--request-id", f"parcel-{number}", "--wait", wait, stdin=order(number)
    )
    return str(ended.data["state"])


def test_a_worker_is_quieted_takes_up_nothing_and_is_woken(page: Page, here: House) -> None:
    number = "900"
    page.goto("/workers")
    here_table = page.get_by_role("table").first
    expect(here_table).to_contain_text("alive")
    expect(here_table).to_contain_text("parcel")
    page.get_by_text("Quiet", exact=False).first.click()
    page.get_by_label("Reason").first.fill("its disk is replaced")
    page.get_by_role("button", name="Take up nothing more").click()
    expect(page.get_by_role("status")).to_contain_text("takes up nothing more")
    expect(here_table).to_contain_text("quiet")
    assert state_of(here, number, wait="1.5") == "pending", "nobody else lives here"
    page.get_by_role("button", name="Wake").click()
    expect(here_table).to_contain_text("alive")
    assert state_of(here, number, wait="20") == "completed"
    acts = here.cli.json("audit", "list", "--verb", "worker").data["items"]
    assert [act["person"] for act in acts] == ["ana", "ana"]
    assert any("its disk is replaced" in str(act) for act in acts)
