"""Documents that mean harm: a StepFailed comes out, in bounded time and memory."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil import StepFailed
from counterfoil.examples.onboarding import documents, reader
from counterfoil.examples.onboarding.documents import MAX_BYTES, text_of
from tests.unit.document_bytes import (
    AES_256,
    CATALOGUE,
    PAGE,
    PAGES,
    PLAIN_PDF,
    SHOWN,
    code_of,
    deflated,
    doubling_page_tree,
    many_pages,
    nested_mail,
    pdf,
    stream,
)

TWO_CONTENTS = PAGE.replace(b"4 0 R", b"[4 0 R 5 0 R]")
DAMAGED = stream(b"\x78\x9cno deflated text", b"/Filter /FlateDecode")

pytestmark = pytest.mark.timeout(120)
SUFFIXES = (".md", ".markdown", ".txt", ".csv", ".pdf", ".eml")


@pytest.mark.parametrize("name", ["a.docx", "a", "pdf", "a.pdf.exe", ".md", ""])
def test_an_unknown_format_is_refused(name: str) -> None:
    assert code_of(name, b"text") == "document_format_unknown"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_document_with_too_many_bytes_is_refused_before_it_is_read(suffix: str) -> None:
    assert code_of(f"a{suffix}", b"a" * (MAX_BYTES + 1)) == "document_too_large"


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_too_much_text_is_refused_and_never_cut(name: str) -> None:
    line = b"word " * 20 + b"\n"
    assert code_of(name, line * (reader.MAX_CHARACTERS // len(line) + 2)) == "document_too_large"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "document_malformed", id="empty"),
        pytest.param(b"hello", "document_malformed", id="no-header"),
        pytest.param(b"%PDF-1.7\n", "document_malformed", id="header-only"),
        pytest.param(PLAIN_PDF[:200], "document_malformed", id="cut-off"),
        pytest.param(pdf(CATALOGUE, b"<< /Type /Pages /Kids [2 0 R] >>"), "document_malformed", id="kids-loop"),
        pytest.param(pdf(b"<< /Type /Catalog /Pages 1 0 R >>"), "document_malformed", id="root-loop"),
        pytest.param(pdf(CATALOGUE, PAGES, PAGE, stream(b"")), "document_not_text", id="scan"),
        pytest.param(
            pdf(CATALOGUE, PAGES, TWO_CONTENTS, stream(SHOWN), DAMAGED), "document_malformed", id="half-damaged"
        ),
        pytest.param(many_pages(301), "document_too_large", id="pages"),
        pytest.param(
            pdf(CATALOGUE, PAGES, PAGE, stream(SHOWN), trailer=b"/Encrypt << /Filter /Standard /V 4 /R 4 >>"),
            "document_encrypted",
            id="encrypted-badly",
        ),
        pytest.param(
            pdf(
                CATALOGUE,
                PAGES,
                PAGE,
                stream(SHOWN),
                b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"61" * 32, b"62" * 32),
                trailer=b"/Encrypt 5 0 R /ID [<00> <00>]",
            ),
            "document_encrypted",
            id="encrypted",
        ),
        pytest.param(
            pdf(CATALOGUE, PAGES, PAGE, stream(SHOWN), AES_256, trailer=b"/Encrypt 5 0 R /ID [<00> <00>]"),
            "document_encrypted",
            id="encrypted-aes-256",
        ),
        pytest.param(
            pdf(CATALOGUE, PAGES, PAGE, deflated(b"BT /F1 9 Tf (%s) Tj ET" % (b"a" * 9_000_000))),
            "document_too_large",
            id="much-text",
        ),
    ],
)
def test_a_hostile_pdf_is_refused(content: bytes, code: str) -> None:
    assert code_of("a.pdf", content) == code


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(pdf(CATALOGUE, PAGES, PAGE, deflated(b" " * 900_000_000)), id="decompression-bomb"),
        pytest.param(pdf(CATALOGUE, PAGES, PAGE, deflated(b"q\n" * 30_000_000)), id="endless-operators"),
        pytest.param(pdf(CATALOGUE, PAGES, PAGE, stream(b"[" * 500_000)), id="deep-arrays"),
        pytest.param(doubling_page_tree(), id="doubling-page-tree"),
    ],
)
def test_a_pdf_that_asks_for_endless_work_is_ended(content: bytes) -> None:
    # Which limit is met first, pypdf's or ours, is not ours to say.
    assert code_of("a.pdf", content) in {"document_too_large", "document_malformed", "document_not_text"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"", "document_malformed", id="empty"),
        pytest.param(b"no header at all", "document_malformed", id="no-from"),
        pytest.param(nested_mail(21), "document_malformed", id="nested-21"),
        pytest.param(nested_mail(1000), "document_malformed", id="nested-1000"),
        pytest.param(nested_mail(3)[:-8], "document_malformed", id="cut-off"),
        pytest.param(
            b"From: a@b.example\nContent-Type: multipart/mixed\n\ntext", "document_malformed", id="no-boundary"
        ),
        pytest.param(
            b"From: a@b.example\nContent-Type: application/pkcs7-mime\n\nAAAA", "document_encrypted", id="sealed"
        ),
        pytest.param(
            b"From: a@b.example\nContent-Type: text/plain; charset=klingon\n\nx", "document_not_text", id="charset"
        ),
        pytest.param(
            b"From: a@b.example\nContent-Type: text/plain; charset=utf-8\n\n\xff\xfe\xfd",
            "document_not_text",
            id="bytes",
        ),
        pytest.param(
            b"From: a@b.example\nContent-Type: text/plain; charset=zlib\n\nx", "document_not_text", id="codec"
        ),
        pytest.param(
            b'From: a@b.example\nContent-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nx\n" * 300 + b"--b--\n",
            "document_malformed",
            id="many-parts",
        ),
        pytest.param(b"From: a@b.example\n\n" + b"word " * 100_000, "document_too_large", id="much-text"),
    ],
)
def test_a_hostile_mail_is_refused(content: bytes, code: str) -> None:
    assert code_of("m.eml", content) == code


def test_a_mail_nested_within_the_limit_is_read() -> None:
    assert "text" in text_of("m.eml", nested_mail(3))


def test_a_mail_of_many_short_lines_and_brackets_ends_in_time() -> None:
    content = b"From: " + b"(" * 100_000 + b"\nSubject: " + b"=?utf-8?q?=41?= " * 20_000 + b"\n\n" + b"<a" * 100_000
    assert code_of("m.eml", content).startswith("document_")


# Random bytes, plain and inside something real.

_LIMITED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_BITS_OF_MAIL = st.sampled_from(
    [
        b"From: a@b\n",
        b"Content-Type: multipart/mixed; boundary=b\n",
        b"\n--b\n",
        b"\n--b--\n",
        b"\n",
        b'"',
        b"=?utf-8?b?",
    ]
    + [b"Content-Type: message/rfc822\n", b"Content-Type: text/html\n", b"<b", b"Content-Transfer-Encoding: base64\n"]
)
_BITS_OF_TABLE = st.sampled_from([b'"', b";", b",", b"\n", b"\r\n", b"a", b"\xe4"])


def damaged_pdf() -> st.SearchStrategy[bytes]:
    cut = st.tuples(st.integers(0, len(PLAIN_PDF)), st.integers(0, 40), st.binary(max_size=40))
    return cut.map(lambda c: PLAIN_PDF[: c[0]] + c[2] + PLAIN_PDF[c[0] + c[1] :])


def hostile_bytes() -> st.SearchStrategy[bytes]:
    anything = st.binary(max_size=300)
    letter = st.lists(st.one_of(_BITS_OF_MAIL, st.binary(max_size=8)), max_size=40).map(b"".join)
    table = st.lists(st.one_of(_BITS_OF_TABLE, st.binary(max_size=4)), max_size=40).map(b"".join)
    return st.one_of(anything, damaged_pdf(), letter, table)


def in_this_process(form: str, name: str, content: bytes) -> str:
    found = json.loads(json.dumps(reader.answer(form, content)))
    if "code" in found:
        raise reader.Unreadable(found["code"], found["message"])
    return found["text"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes_give_text_or_a_final_failure(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process for each of a thousand inputs would take minutes; the few below have one.
    monkeypatch.setattr(documents, "_read_apart", in_this_process)

    @_LIMITED
    @given(hostile_bytes())
    def check(content: bytes) -> None:
        try:
            text = text_of(f"a{suffix}", content)
        except StepFailed as failure:
            assert failure.code.startswith("document_") and failure.message.isprintable()
        else:
            assert len(text.encode()) <= 4 * reader.MAX_CHARACTERS  # and it has no halves of characters
            assert not any(c < " " and c not in "\n\t" for c in text)

    check()


@pytest.mark.parametrize("suffix", [".pdf", ".eml"])
def test_random_bytes_in_a_process_of_their_own(suffix: str) -> None:
    @settings(_LIMITED, max_examples=8)
    @given(hostile_bytes())
    def check(content: bytes) -> None:
        try:
            assert isinstance(text_of(f"a{suffix}", content), str)
        except StepFailed as failure:
            assert failure.code.startswith("document_")

    check()


@_LIMITED
@given(st.text(max_size=300), st.binary(max_size=20))
def test_any_name_gives_text_or_a_final_failure(name: str, content: bytes) -> None:
    try:
        text_of(name + ".txt", content)
    except StepFailed as failure:
        assert failure.code in {"document_not_text", "document_format_unknown"} and failure.message.isprintable()
