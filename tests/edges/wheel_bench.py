"""Fresh environments with what was built: no repository, no developer's packages, settings or home."""

import importlib.metadata
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements-demo.txt"
CORE = ("apsw", "cryptography", "httpx2", "pydantic", "rfc8785", "rich", "typer")


def build(folder: Path) -> tuple[Path, Path]:
    """(sdist, wheel): the wheel is made from the sdist, so what the sdist lacks shows."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(names: tuple[str, ...]) -> set[str]:
    """These packages and all that they need here, by plain name."""
    found: set[str] = set()
    waiting = [plain_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requires = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform
        found.add(name)
        waiting += [plain_name(re.split(r"[^\w.-]", line)[0]) for line in requires if "extra ==" not in line]
    return found


def core_requirements() -> str:
    """The lines of the requirements file, hashes included, that the core alone needs."""
    blocks = [block + "\n" for block in re.split(r"\n(?=[a-z0-9])", REQUIREMENTS.read_text().strip())]
    wanted = needed(CORE)
    kept = [block for block in blocks if plain_name(re.split(r"[=\[ ]", block)[0]) in wanted]
    assert len(kept) >= len(wanted) - 1, "each is pinned"
    return "".join(kept)


@dataclass(frozen=True)
class Installed:
    """A virtual environment. Commands run in it with nothing else around."""

    place: Path

    def run(self, *command: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """A command of this environment, in a folder, with an environment of five variables and those given."""
        program, *rest = command
        home = self.place.parent / "home"
        home.mkdir(exist_ok=True)
        kept = {
            name: os.environ[name]
            for name in ("PATH", "TMPDIR", "SSL_CERT_FILE", "PIP_CACHE_DIR")
            if name in os.environ
        }
        return subprocess.run(
            [str(self.place / "bin" / program), *rest],
            cwd=folder,
            env={**kept, "HOME": str(home), "LANG": "C.UTF-8", **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def pip(place: Path, *argv: str) -> str:
    """This interpreter's pip over another environment, which needs none of its own."""
    command = [sys.executable, "-m", "pip", "--python", str(place), "--disable-pip-version-check", "--no-input", *argv]
    ended = subprocess.run(command, cwd=place.parent, capture_output=True, text=True, timeout=500, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def install(folder: Path, requirements: str, wheel: Path) -> Installed:
    """A fresh environment with these requirements, by hash, and the wheel."""
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], timeout=300, check=True)
    (folder / "requirements.txt").write_text(requirements)
    pip(place, "install", "--quiet", "--no-compile", "--require-hashes", "-r", "requirements.txt")
    pip(place, "install", "--quiet", "--no-compile", "--no-deps", str(wheel))
    return Installed(place)
