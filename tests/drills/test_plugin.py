"""A user's pytest with a marked test: ten lines, a result for each case, and nothing for those who mark none."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from counterfoil.drills import pytest_plugin
from tests.docs.pages import ROOT, blocks

SHOP = next(block.text for block in blocks("README.md") if "async def place_order" in block.text)
PAGE = "docs/drills.md"
ONE = "*/operation.replied#1/kill-after"
NAIVE = """
@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="buyer"))
async def rush(run: Run, order: Order) -> None:
    await run.step(straight, order)

async def straight(order: Order) -> str:
    import os, httpx2
    async with httpx2.AsyncClient(verify=False) as client:
        reply = await client.post(os.environ["SHOP_URL"] + "/orders", json=order.model_dump())
    return reply.text
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def ran(folder: Path, *options: str, timeout: int = 110) -> "subprocess.CompletedProcess[str]":
    """A fresh pytest in a user's folder, plugin found as an installation finds it."""
    installed = [each.value for each in entry_points(group="pytest11") if each.value == pytest_plugin.__name__]
    plugin = [] if installed else ["-p", pytest_plugin.__name__]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("COUNTERFOIL_", "PYTEST_"))}
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(folder)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, "--strict-markers", "-o", "addopts=", *options],
        cwd=folder, env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False,
    )  # fmt: skip


def documented() -> str:
    return next(block.text for block in blocks(PAGE) if "pytest.mark.drill" in block.text)


def test_the_documented_example_has_ten_lines_and_drills(shop: Path) -> None:
    assert len(documented().strip().splitlines()) <= 10
    (shop / "test_shop.py").write_text(documented())
    done = ran(shop, "-v", "--junitxml", "junit.xml", "--drill-only", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"test_shop\.py::\w+\[buy/operation\.replied#1/kill-after\] PASSED", done.stdout)
    assert "2 passed" in done.stdout
    assert not re.search(r"\[1\d\d%\]", done.stdout.replace("[100%]", "")), "more than all of it"
    cases = [case.get("name") for case in ElementTree.parse(shop / "junit.xml").iter("testcase")]
    assert len(cases) == 2 and any("operation.replied#1/kill-after" in str(name) for name in cases)
    assert "accepted-no-receipt" in (shop / "drill.html").read_text()


def test_a_case_that_fails_is_a_result_that_failed(shop: Path) -> None:
    changes = {
        "async def main": f"{NAIVE}\nasync def main",
        'url="http://127.0.0.1:8765"': 'url=Env("SHOP_URL")',
        "import App,": "import App, Env,",
    }
    text = SHOP
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (shop / "shop.py").write_text(text)
    (shop / "test_shop.py").write_text(
        "import pytest\n\n@pytest.mark.drill('shop:rush', only='rush/step.ended#1/kill-before')\n"
        "def test_rush(drill):\n    assert drill.summary['cases'] == 1\n"
    )
    done = ran(shop, "-q")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_shop.py::test_rush[rush/step.ended#1/kill-before]" in done.stdout
    assert "unledgered_writes" in done.stdout and "counterfoil drill shop:rush --only" in done.stdout
    assert "1 failed, 1 passed" in done.stdout, "the test itself asked nothing about it"


def test_under_xdist(shop: Path) -> None:
    (shop / "test_shop.py").write_text(documented())
    done = ran(shop, "-q", "-n1", "--drill-only", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_what_is_wrong_is_said(shop: Path) -> None:
    (shop / "test_shop.py").write_text(
        "import pytest\n\ndef test_unmarked(drill):\n    pass\n\n"
        "@pytest.mark.drill('shop:missing')\ndef test_missing(drill):\n    pass\n"
    )
    done = ran(shop, "-q")
    assert done.returncode == 1
    assert pytest_plugin.TARGET in done.stdout and "has no workflow or application 'missing'" in done.stdout


def test_a_run_without_a_drill_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\ndef test_plain():\n    heavy = ('counterfoil', 'apsw', 'pydantic', 'rich', 'httpx2')\n"
        "    ours = sorted(name for name in sys.modules if name.startswith(heavy))\n"
        "    assert ours == ['counterfoil', 'counterfoil.drills', 'counterfoil.drills.pytest_plugin']\n"
    )
    others = ("no:schemathesis", "no:anyio", "no:hypothesispytest", "no:langsmith_plugin")
    done = ran(tmp_path, "-q", *(word for other in others for word in ("-p", other)))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_marker_is_described(tmp_path: Path) -> None:
    assert "@pytest.mark.drill(target, only=None" in ran(tmp_path, "--markers").stdout


def test_the_plugin_is_where_the_package_says() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert declared == {"counterfoil": pytest_plugin.__name__}
