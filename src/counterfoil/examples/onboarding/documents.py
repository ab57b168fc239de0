"""The documents of a customer's folder, and the text in them. Nobody vouches for a document: each is read within limits.

Whatever is wrong with a document is a `StepFailed`: the same bytes will not read better at the next try. Its codes:
document_too_large, document_encrypted, document_malformed, document_format_unknown, document_not_text, folder_missing,
folder_empty, folder_too_large.
"""

import csv
import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path, PurePath
from typing import Final

from counterfoil import StepFailed
from counterfoil.examples.onboarding.reader import CPU_SECONDS, Unreadable, bounded, decoded

MAX_BYTES: Final = 10 * 1024 * 1024
"""Limit of one document, in bytes."""
MAX_DOCUMENTS: Final = 100
"""Limit of one folder, in documents."""
SAMPLE_FOLDERS: Final = Path(__file__).with_name("folders")
"""Holds one folder for each sample customer."""

_READER: Final = Path(__file__).with_name("reader.py")
_WALL_SECONDS: Final = 6 * CPU_SECONDS
# How a document can end its reader: too much computing, or a stack that a library written in C did not bound.
_ENDED_BY_DOCUMENT: Final = frozenset({-signal.SIGXCPU, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})


def documents_in(folder: Path) -> list[Path]:
    """The regular files of a folder by name. Leaves out hidden files, sub-folders, and links, which may lead anywhere.

    Raises StepFailed: folder_missing, folder_empty, folder_too_large, document_not_text (a file name that is no text).
    """
    found: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                    found.append(folder / entry.name)
                if len(found) > MAX_DOCUMENTS:
                    raise StepFailed("folder_too_large", f"{_shown(folder)} holds more than {MAX_DOCUMENTS} documents.")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StepFailed("folder_missing", f"{_shown(folder)} cannot be opened as a folder: {why}.") from error
    if not found:
        raise StepFailed("folder_empty", f"{_shown(folder)} holds no documents.")
    for path in found:
        if not path.name.isprintable():
            raise StepFailed("document_not_text", f"{_shown(path.name)} is not a readable file name. Rename the file.")
    return sorted(found, key=lambda path: path.name)


def content_of(path: Path) -> bytes:
    """The bytes of one document, MAX_BYTES at most. Raises StepFailed(document_too_large), OSError."""
    # A file may be swapped for a link or a pipe after it was listed: neither is followed, neither makes us wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{_shown(path)} is no longer a regular file.")
        content = file.read(MAX_BYTES + 1)
    _check_size(path.name, content)
    return content


def text_of(name: str, content: bytes) -> str:
    """The text of one document; the suffix of `name` says how it is read. Lines end with a newline character.

    Blocks, for a PDF or an e-mail up to a minute: call it in a thread. Raises StepFailed, and ModuleNotFoundError
    where pypdf is not installed.
    """
    read = _READERS.get(PurePath(name).suffix.lower())
    if read is None:
        known = ", ".join(_READERS)
        raise StepFailed("document_format_unknown", f"{_shown(name)} is of no format that is read here: {known}.")
    _check_size(name, content)
    try:
        return bounded(_tidy(read(name, content)))
    except Unreadable as error:
        raise StepFailed(error.code, f"{_shown(name)} {error.message}") from None


def _check_size(name: str, content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise StepFailed("document_too_large", f"{_shown(name)} has more than {MAX_BYTES} bytes. Split it.")


def _shown(name: object) -> str:
    text = str(name)
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


def _tidy(text: str) -> str:
    # What goes on to a journal and a model: one kind of line end, no control characters, no halves of a character.
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in lines if c in "\n\t" or not (c < " " or "\x7f" <= c < "\xa0"))
    return kept.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _text(name: str, content: bytes) -> str:
    return decoded(content)


def _table(name: str, content: bytes) -> str:
    text = bounded(decoded(content))
    separator = max(",;\t", key=text.lstrip().partition("\n")[0].count)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True):
            if not any(cell.strip() for cell in row):
                continue
            if rows and len(row) != len(rows[0]):
                # A value under the wrong heading is worse than no value.
                where = f"line {len(rows) + 1} that is filled has {len(row)} cells, the first has {len(rows[0])}"
                raise Unreadable("document_malformed", f"is not an even table: {where}.")
            rows.append(row)
    except csv.Error as error:
        raise Unreadable("document_malformed", f"is not readable CSV: {error}.") from None
    return "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows)


def _pdf(name: str, content: bytes) -> str:
    if importlib.util.find_spec("pypdf") is None:
        # Not the document's fault, so not final.
        raise ModuleNotFoundError("Reading a PDF needs pypdf: pip install 'counterfoil[demo]'.", name="pypdf")
    return _read_apart("pdf", name, content)


def _mail(name: str, content: bytes) -> str:
    return _read_apart("mail", name, content)


def _read_apart(form: str, name: str, content: bytes) -> str:
    """What `reader.py` finds in `content`. The child gets the document and the way to its modules, and nothing else."""
    search = os.pathsep.join(path for path in sys.path if path)
    try:
        # -P: no module beside the reader shadows one it imports. A session of its own: Ctrl-C in the terminal of a
        # worker would end the reader and be taken for the document's doing.
        ended = subprocess.run(
            [sys.executable, "-P", str(_READER), form],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": search},
            timeout=_WALL_SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unreadable("document_too_large", f"was not read within {_WALL_SECONDS} seconds. Split it.") from None
    if ended.returncode in _ENDED_BY_DOCUMENT:
        raise Unreadable("document_too_large", f"needs more than {CPU_SECONDS} seconds of computing to read. Split it.")
    if ended.returncode != 0:
        raise RuntimeError(f"The reader of {_shown(name)} was ended from outside ({ended.returncode}). Read it again.")
    found: dict[str, str] = json.loads(ended.stdout)
    if "code" in found:
        raise Unreadable(found["code"], found["message"])
    return found["text"]


_READERS: Final[dict[str, Callable[[str, bytes], str]]] = {
    ".md": _text,
    ".markdown": _text,
    ".txt": _text,
    ".csv": _table,
    ".pdf": _pdf,
    ".eml": _mail,
}
