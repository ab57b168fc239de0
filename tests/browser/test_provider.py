"""Signing in at a real OpenID Connect provider, with a real browser."""

import json
import re
import subprocess
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.house import House, house
from tests.servers.oidc import CLIENT, SCRIPT, SECRET, new_key


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    """Served twice: the provider must know our address, and we must know the provider's."""
    with house(tmp_path_factory.mktemp("provider"), empty=True) as lived:
        back = lived.serve("--no-worker") + "/sign-in/answer"
        lived.stop()
        with subprocess.Popen(
            ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as provider:
            assert provider.stdin is not None
            assert provider.stdout is not None
            client = {
                "client_id": CLIENT, "client_secret": SECRET, "redirect_uris": [back], "response_types": ["code"],
                "grant_types": ["authorization_code"],
            }  # fmt: skip
            keys = {"keys": [new_key("first").as_dict(private=True)]}
            provider.stdin.write(json.dumps({"port": 0, "keys": keys, "clients": [client]}) + "\n")
            provider.stdin.flush()
            lived.cli.environ |= {
                "COUNTERFOIL_OIDC_ISSUER": json.loads(provider.stdout.readline())["url"],
                "COUNTERFOIL_OIDC_CLIENT_ID": CLIENT, "COUNTERFOIL_OIDC_CLIENT_SECRET": SECRET,
            }  # fmt: skip
            lived.serve("--no-worker")
            yield lived
            lived.stop()
            provider.stdin.close()
            provider.wait(10)


@pytest.fixture
def visitor(chromium: Browser, here: House) -> Generator[Page, None, None]:
    context = chromium.new_context(base_url=here.url)
    yield context.new_page()
    context.close()


def gone_to(page: Page, who: str) -> str:
    """Where the button leads, for somebody whom the provider knows already. What was kept is in the browser's cookie."""
    page.goto("/runs")
    button = page.get_by_role("link", name="Continue with")
    expect(button).to_have_attribute("href", re.compile("next=%2Fruns|next=/runs"))
    answer = page.context.request.get(button.get_attribute("href") or "", max_redirects=0)
    assert answer.status == 303
    return f"{answer.headers['location']}&login_hint={who}"


def test_somebody_signs_in_at_the_provider_and_comes_back_to_the_page(visitor: Page) -> None:
    visitor.goto(gone_to(visitor, "oscar"))
    expect(visitor).to_have_url(re.compile("/runs$"))
    expect(visitor.get_by_role("button", name="oscar")).to_be_visible()
    kept = {cookie.get("name"): cookie.get("httpOnly") for cookie in visitor.context.cookies()}
    assert "counterfoil-provider" not in kept
    assert kept["counterfoil"] is True


def test_an_account_that_is_nobody_here_is_told_so(visitor: Page) -> None:
    visitor.goto(gone_to(visitor, "stranger"))
    expect(visitor.get_by_role("alert")).to_contain_text("the account is nobody here")
    visitor.goto("/runs")
    expect(visitor).to_have_url(re.compile("/sign-in"))


def test_an_answer_that_nobody_asked_for_signs_nobody_in(visitor: Page, here: House) -> None:
    answer = visitor.goto("/sign-in/answer?code=stolen&state=guessed")
    assert answer is not None
    assert answer.status >= 400
    expect(visitor.get_by_role("alert")).to_be_visible()
    assert urlsplit(visitor.url).netloc == urlsplit(here.url).netloc
    assert Path(here.cli.folder / "serve.log").read_text().count("stolen") == 0
