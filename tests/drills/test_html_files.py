"""The files of a drill: refused before anything is played where they cannot be written, and without paths of this machine."""

import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from counterfoil.cli.drill_files import check_writable, places, written
from counterfoil.model.errors import Refused
from tests.drills.sample_report import case, report


def test_a_file_that_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    check_writable(None, tmp_path / "made.html")
    for wrong in (tmp_path / "missing" / "drill.html", tmp_path):
        with pytest.raises(Refused) as refused:
            check_writable(wrong)
        assert refused.value.code == "usage" and str(wrong) in refused.value.message


def test_both_files_are_written_and_the_page_names_no_place_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    proof = {"db": f"{tempfile.gettempdir()}/x.db"}
    shown = case("b#1", "f", repeat=f"counterfoil drill {Path.cwd()}/shop", applied={"at": "b", "proof": proof})
    html, junit = tmp_path / "a.html", tmp_path / "a.xml"
    written(report(shown), html=html, junit=junit)
    text = html.read_text()
    assert "counterfoil drill ./shop" in text and "TMP/x.db" in text
    assert not [path for path in places() if path in text]
    assert ElementTree.parse(junit).getroot().get("tests") == "1"
    written(report(shown), html=None, junit=None)
