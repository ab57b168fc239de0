"""The public API as a user types it: both checkers, strict, over both examples, what is inferred, and mistakes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "edges" / "typing"
PYRIGHT = ROOT / "tests" / "servers" / "npm" / "node_modules" / ".bin" / "pyright"
RIGHT = ["flask_view.py", "inferred.py", "onboarding.py", "refund.py"]

Wrong = set[tuple[str, int]]


def marked() -> Wrong:
    """(file, line) of every mistake."""
    lines = (FILES / "mistakes.py").read_text().splitlines()
    found = {("mistakes.py", n) for n, line in enumerate(lines, 1) if "  # wrong: " in line}
    assert found
    return found


def by_pyright() -> tuple[Wrong, str]:
    command = [str(PYRIGHT), "--outputjson", "-p", str(FILES), "--pythonpath", sys.executable]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(ended.stdout)
    assert report["summary"]["filesAnalyzed"] == len([*FILES.glob("*.py")]), ended.stdout
    found = [each for each in report["generalDiagnostics"] if each["severity"] in ("error", "warning")]
    return {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found}, ended.stdout


def by_mypy(cache: Path) -> tuple[Wrong, str]:
    names = sorted(path.name for path in FILES.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(cache), *names]
    ended = subprocess.run(command, cwd=FILES, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    found = re.findall(r"^([^:]+):(\d+): error: ", ended.stdout, re.MULTILINE)
    return {(Path(name).name, int(line)) for name, line in found}, ended.stdout


@pytest.fixture(scope="module", params=["pyright", "mypy"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Wrong, str]:
    return by_pyright() if request.param == "pyright" else by_mypy(tmp_path_factory.mktemp("mypy"))


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_user_writes_has_no_error(name: str, found: tuple[Wrong, str]) -> None:
    wrong, said = found
    assert {line for file, line in wrong if file == name} == set(), said


def test_each_mistake_is_found(found: tuple[Wrong, str]) -> None:
    wrong, said = found
    assert {each for each in wrong if each[0] == "mistakes.py"} == marked(), said


@pytest.mark.parametrize("name", RIGHT)
def test_the_files_run_as_they_stand(name: str) -> None:
    """A file that only a type checker reads may say what no program can: each is imported by a real one."""
    program = f"import warnings; warnings.simplefilter('error'); import {name.removesuffix('.py')}"
    environment = {"OPENAI_API_KEY": "never used", "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=FILES, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
