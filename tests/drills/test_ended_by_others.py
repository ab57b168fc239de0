"""A drill that is ended from outside leaves nothing, and an application that a child cannot import is told as what it is."""

import os
import signal
import sys
from pathlib import Path

import pytest

from counterfoil.cli.terminated import as_interrupted
from counterfoil.testing.children import Children


def test_sigterm_is_an_interruption() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), as_interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_an_application_prints_does_not_come_into_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """At import, at once, and past Python: a line that is no JSON, and one that looks like ours."""
    (tmp_path / "noisy_app.py").write_text(
        "import os\nfrom counterfoil import App\nprint('hello', flush=True)\n"
        'os.write(1, b\'{"ready": 1}\\n\')\nos.system("echo from a shell")\napp = App("noisy")\n'
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with Children("noisy_app:app") as children:
        child = children.start(
            "counterfoil.drills.faults.acting:found", {}, log=tmp_path / "log", environ={}, seconds=20
        )
        assert os.WIFEXITED(child.wait())
    assert "from a shell" in capfd.readouterr().err
