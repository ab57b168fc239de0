"""Reads one PDF or e-mail that nobody vouches for. `documents` runs this file as a program, in a process of its own.

Both formats are parsed by large libraries in which a small file can ask for endless work. A thread cannot be stopped and
its memory cannot be taken back, so the work is done where the operating system can end it. The program knows only the
standard library and pypdf: it starts fast, and it holds no secret and no connection that a document could reach.

Arguments: `pdf` or `mail`. Input: the bytes. Output: `{"text": ...}`, or `{"code": ..., "message": ...}` where the
message goes on after the name of the document ("'form.pdf' is encrypted ...").
"""

import json
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import default
from html.parser import HTMLParser
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_CHARACTERS: Final = 400_000
"""Limit of the text of one document, in characters: some 150 pages."""
MAX_PAGES: Final = 300
MAX_PARTS: Final = 200
MAX_DEPTH: Final = 20
CPU_SECONDS: Final = 10
MEMORY_BYTES: Final = 512 * 1024 * 1024

_ALLOWED_CONTROLS: Final = frozenset("\t\n\r\f")
_BYTE_ORDER_16: Final = (b"\xff\xfe", b"\xfe\xff")
_SEALED: Final = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_BROKEN: Final = frozenset(
    {
        "NoBoundaryInMultipartDefect",
        "StartBoundaryNotFoundDefect",
        "CloseBoundaryNotFoundDefect",
        "MultipartInvariantViolationDefect",
    }
)


class Unreadable(Exception):
    """The document cannot be read, now or later. `message` goes on after its name."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def decoded(content: bytes) -> str:
    """The characters of a text file: UTF-8 with or without a mark, else Windows-1252. Raises Unreadable."""
    if content.startswith(_BYTE_ORDER_16):
        raise Unreadable("document_not_text", "is UTF-16. Save it as UTF-8 and add it again.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Windows-1252 gives nearly every byte a meaning. Control characters tell an old letter from a binary file.
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            raise Unreadable("document_not_text", "is neither UTF-8 nor Windows-1252 text.") from None
    if any((c < " " and c not in _ALLOWED_CONTROLS) or "\x7f" <= c < "\xa0" for c in text):
        raise Unreadable("document_not_text", "holds control characters: it is not a text file.")
    return text


def bounded(text: str) -> str:
    """The same text, or Unreadable. Never a part of it: a cut document would leave out facts without a word."""
    if len(text) > MAX_CHARACTERS:
        raise Unreadable("document_too_large", f"holds more than {MAX_CHARACTERS} characters of text. Split it.")
    return text


def pdf_text(content: bytes) -> str:
    """The text of all pages, then the form fields as `name: value` lines. Raises Unreadable, or what pypdf raises."""
    if b"%PDF-" not in content[:1024]:
        raise Unreadable("document_malformed", "is not a PDF.")
    document = _opened(content)
    if not document.pages:
        raise Unreadable("document_malformed", "has no pages.")
    if len(document.pages) > MAX_PAGES:
        raise Unreadable("document_too_large", f"has more than {MAX_PAGES} pages. Split it.")
    losses = _Losses()
    logging.getLogger("pypdf").addHandler(losses)
    try:
        text = ""
        for page in document.pages:
            text = bounded(f"{text}\n\n{page.extract_text()}")
        fields = document.get_form_text_fields() or {}
    finally:
        logging.getLogger("pypdf").removeHandler(losses)
    if losses.seen:
        raise Unreadable("document_malformed", "is damaged: a part of its text is lost. Save it again and add that.")
    text = bounded("\n".join([text, *(f"{name}: {value}" for name, value in fields.items() if value)])).strip()
    if not text:
        # An empty answer would read as "this document says nothing".
        raise Unreadable("document_not_text", "has no text in it, probably a scan. Add a version with text.")
    return text


def _opened(content: bytes) -> "PdfReader":
    from pypdf import PdfReader  # only a folder with a PDF in it needs pypdf

    try:
        document = PdfReader(BytesIO(content))
        sealed = document.is_encrypted
    except Exception as error:
        # An empty password is tried at once. Ciphers that need another library, and other key handlers, end here.
        if b"/Encrypt" not in content:
            raise
        raise _encrypted() from error
    if sealed:
        raise _encrypted()
    return document


def _encrypted() -> Unreadable:
    return Unreadable("document_encrypted", "is encrypted. Save a copy without a password and add that.")


class _Losses(logging.Handler):
    """Notices when pypdf gives up a stream or a form and goes on without it: it says so to its log only."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen = self.seen or record.name in ("pypdf.filters", "pypdf._page")


def mail_text(content: bytes) -> str:
    """Headers, body as plain text, and one line for each attachment. Raises Unreadable, or what `email` raises."""
    message = BytesParser(policy=default).parsebytes(content)
    _check_structure(message)
    if message["from"] is None:
        raise Unreadable("document_malformed", "has no From line: it is not an e-mail.")
    named = [(name, message[name]) for name in ("From", "To", "Cc", "Date", "Subject")]
    headers = [f"{name}: {_one_line(value)}" for name, value in named if value is not None]
    body = message.get_body(("plain", "html"))
    attached = [message] if body is None and not message.is_multipart() else list(message.iter_attachments())
    lines = [_described(part) for part in attached]
    return bounded("\n".join([*headers, "", _body_text(body) if body else "(no text body)", "", *lines])).strip()


def _check_structure(message: EmailMessage) -> None:
    # Not message.walk(): it recurses as deep as the sender likes.
    waiting: list[tuple[Message, int]] = [(message, 0)]
    seen = 0
    while waiting:
        part, depth = waiting.pop()
        seen += 1
        if depth > MAX_DEPTH or seen > MAX_PARTS:
            raise Unreadable("document_malformed", "has too many parts inside one another. Save its text and add that.")
        if part.get_content_type() in _SEALED:
            raise Unreadable("document_encrypted", "is encrypted. Save its text and add that.")
        if any(type(defect).__name__ in _BROKEN for defect in part.defects):
            raise Unreadable("document_malformed", "is cut off or damaged: its parts do not fit together.")
        if part.is_multipart():
            waiting += [(child, depth + 1) for child in cast(list[Message], part.get_payload())]


def _body_text(part: Message) -> str:
    payload = _bytes_of(part)
    charset = part.get_content_charset()
    try:
        # Mail programs write us-ascii, or nothing, and then send other characters all the same.
        text = decoded(payload) if charset in (None, "us-ascii") else payload.decode(charset)
    except (LookupError, UnicodeError):
        raise Unreadable("document_not_text", f"has a body that is not {charset!r} text.") from None
    return _without_tags(text) if part.get_content_type() == "text/html" else text.strip()


def _bytes_of(part: Message) -> bytes:
    payload: Any = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _described(part: Message) -> str:
    name = _one_line(part.get_filename() or "without a name")
    return f"Attachment, not read: {name} ({part.get_content_type()}, {len(_bytes_of(part))} bytes)"


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


class _TagStripper(HTMLParser):
    """Keeps what a reader sees. Runs nothing, loads nothing."""

    _HIDDEN: Final = frozenset({"script", "style", "head", "title", "template", "noscript"})
    _INLINE: Final = frozenset(
        {"a", "abbr", "b", "code", "em", "font", "i", "small", "span", "strong", "sub", "sup", "u"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in self._HIDDEN
        if tag not in self._INLINE:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in self._HIDDEN))
        if tag not in self._INLINE:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _without_tags(html: str) -> str:
    stripper = _TagStripper()
    stripper.feed(html)
    stripper.close()
    lines = (_one_line(line) for line in "".join(stripper.pieces).splitlines())
    return "\n".join(line for line in lines if line)


_FORMATS: Final[dict[str, tuple[str, Callable[[bytes], str]]]] = {
    "pdf": ("PDF", pdf_text),
    "mail": ("e-mail", mail_text),
}


def answer(form: str, content: bytes) -> dict[str, str]:
    """What the program prints. `form` is a key of `_FORMATS`; nothing is raised for any content."""
    kind, read = _FORMATS[form]
    try:
        return {"text": read(content)}
    except Unreadable as error:
        return {"code": error.code, "message": error.message}
    except MemoryError:
        return {"code": "document_too_large", "message": "needs too much memory to read. Split it."}
    except Exception as error:  # the parsers fail on hostile bytes with errors of every type, documented or not
        return {"code": "document_malformed", "message": f"is not a readable {kind} ({type(error).__name__})."}


def _limit_this_process() -> None:
    with suppress(ImportError):  # not a POSIX system: the time limit of the parent remains
        import resource

        limits = (
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_FSIZE, 0, 0),
            (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
            (resource.RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES),
        )
        for kind, soft, hard in limits:
            with suppress(ValueError, OSError):  # a lower limit is in force, or the system has none of this kind
                resource.setrlimit(kind, (soft, hard))


if __name__ == "__main__":
    _limit_this_process()
    sys.stdout.write(json.dumps(answer(sys.argv[1], sys.stdin.buffer.read())))
