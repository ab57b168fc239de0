"""A virtual environment for the peers alone, under .build: nothing of it is ever a dependency of ours."""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".build" / "peers"
REQUIREMENTS = HERE / "requirements.txt"


def python_of_peers() -> Path:
    """The interpreter of the environment; made, and filled as the requirements say, where it is not."""
    python, done = PLACE / "bin" / "python", PLACE / "requirements.txt"
    if not done.exists() or done.read_text() != REQUIREMENTS.read_text():
        venv.create(PLACE, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", "--requirement", REQUIREMENTS], check=True)
        done.write_text(REQUIREMENTS.read_text())
    return python


def pinned() -> dict[str, str]:
    """Package to version, as the requirements pin them; and our own."""
    lines = [line.strip() for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return dict(line.split("==", 1) for line in lines) | {"counterfoil": project["version"]}


def our_python() -> Path:
    """The interpreter that runs this."""
    return Path(sys.executable)
