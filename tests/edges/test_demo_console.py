"""`counterfoil demo --console`: the stories, and then the console, open at the run that waits for a person."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path


def test_it_prints_an_address_that_shows_the_unresolved_run_and_ends_when_told(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    environment |= {"COUNTERFOIL_STATE": str(tmp_path / "state"), "COLUMNS": "200"}
    command = [
        sys.executable,
        "-m",
        "counterfoil",
        "demo",
        "--console",
        "--port",
        "0",
        "--keep",
        str(tmp_path / "kept"),
    ]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        try:
            assert demo.stdout is not None
            address = next(
                (
                    found[0]
                    for line in demo.stdout
                    if (found := re.findall(r"http://127\.0\.0\.1:\d+/runs/run_\w+", line))
                ),
                None,
            )
            assert address is not None, "no address was printed"
            with urllib.request.urlopen(address, timeout=20) as page:
                text = page.read().decode()
            assert page.status == 200 and "run-2" in text and "outcome_unknown" in text.replace(" ", "_").lower()
            demo.send_signal(signal.SIGINT)
            assert demo.wait(30) == 0
        finally:
            if demo.poll() is None:
                demo.send_signal(signal.SIGTERM)
                demo.wait(30)


def test_it_shows_the_onboarding_only(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "counterfoil", "demo", "refund", "--console", "--json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "three stories" in ended.stdout
