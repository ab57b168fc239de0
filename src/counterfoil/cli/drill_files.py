"""The files that a drill writes: the page and JUnit XML. Whether they can be written is asked before, not ten minutes later."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterfoil.model.errors import Refused


def check_writable(*files: Path | None) -> None:
    """Raises Refused(usage) for a file that cannot be written. It is made empty where it was not there."""
    for file in files:
        if file is not None:
            try:
                file.open("a").close()
            except OSError as problem:
                raise Refused("usage", problem=f"{file} cannot be written: {problem.strerror}") from problem


def written(report: Mapping[str, Any], *, html: Path | None, junit: Path | None) -> None:
    """Write what was asked for. On the page no path of this machine is left."""
    if html is not None:
        from counterfoil.drills.html import page

        html.write_text(page(report, places()), encoding="utf-8")
    if junit is not None:
        from counterfoil.drills.junit import document

        junit.write_text(document(report), encoding="utf-8")


def places() -> dict[str, str]:
    """Paths that mean nothing to a reader elsewhere, and what is printed for them."""
    found = {Path.home(): "~", Path.cwd(): ".", Path(tempfile.gettempdir()): "TMP"}
    return {str(path): said for path, said in found.items() if path != Path("/")}
