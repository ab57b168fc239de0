"""Signing in with a personal token, by a real browser: it may what the token may, as long as the token may it."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.house import House


@pytest.fixture
def visitor(chromium: Browser, here: House) -> Generator[Page, None, None]:
    context = chromium.new_context(base_url=here.url)
    yield context.new_page()
    context.close()


def made(here: House, *scope: str) -> Any:
    return here.cli.json("tokens", "create", "ana", "--name", "browser", "--days", "1", *scope).data


def sign_in(page: Page, token: str) -> None:
    page.goto("/runs")
    page.get_by_text("Sign in with a personal token").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in with the token").click()


def test_a_token_opens_what_its_scope_names_until_it_is_revoked(visitor: Page, here: House) -> None:
    token = made(here, "--verb", "read", "--workflow", "letter")
    sign_in(visitor, token["token"])
    expect(visitor).to_have_url(f"{here.url}/runs")
    table = visitor.locator("main")
    expect(table).to_contain_text("run-6")
    expect(table).not_to_contain_text("buy")
    answer = visitor.goto("/runs/run-1")
    assert answer is not None
    assert answer.status == 404, "what the token does not name is not there"
    visitor.goto("/inbox?reason=outcome_unknown")
    visitor.get_by_role("button", name="Take").first.click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("This is not yours to do")
    assert here.cli.json("tokens", "revoke", token["token_id"]).status == 0
    visitor.goto("/runs")
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Sign in")
    stored = json.dumps(here.cli.json("audit", "list", "--verb", "signed_in").data)
    assert token["token"] not in stored
    assert token["token"] not in (here.cli.folder / "serve.log").read_text()


def test_a_token_of_nobody_signs_nobody_in_and_is_not_shown(visitor: Page) -> None:
    sign_in(visitor, "cft_guessed")
    expect(visitor.get_by_role("alert")).to_be_visible()
    assert "cft_guessed" not in visitor.content()
    assert visitor.context.cookies() == []
