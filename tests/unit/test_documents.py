"""What is read from the documents of a customer, how the reader is kept apart, and which files of a folder count."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from counterfoil import StepFailed
from counterfoil.examples.onboarding import documents, reader
from counterfoil.examples.onboarding.documents import MAX_BYTES, SAMPLE_FOLDERS, content_of, documents_in, text_of
from tests.unit.document_bytes import CATALOGUE, PAGE, PAGES, PLAIN_PDF, SHOWN, code_of, mail, pdf, stream

pytestmark = pytest.mark.timeout(120)


# What is read.


def test_the_sample_folder_has_every_format_and_the_facts_of_a_case() -> None:
    found = documents_in(SAMPLE_FOLDERS / "acme")
    texts = {path.suffix: text_of(path.name, content_of(path)) for path in found}
    assert set(texts) == {".md", ".txt", ".csv", ".pdf", ".eml"}
    for suffix in (".md", ".pdf", ".eml"):
        assert {"Company: Acme Logistics GmbH", "Customer: acme"} <= set(texts[suffix].split("\n")), suffix
    assert "Registration number: HRB 218844, Amtsgericht Hamburg" in texts[".pdf"]
    assert "EUR 1,850,000" in texts[".pdf"] and "EUR 1,850,000" in texts[".eml"]
    assert "Dr. Henrik Søgaard | Denmark | 30 | Nordkai Holding ApS, Aarhus | yes" in texts[".csv"]
    assert "Attachment, not read: lena-brandt.vcf (text/vcard, 99 bytes)" in texts[".eml"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        ("\ufeffGrüße".encode(), "Grüße"),
        ("Preis: 5 €".encode("cp1252"), "Preis: 5 €"),
        (b"a\r\nb\rc\x0cd", "a\nb\ncd"),
    ],
)
def test_text_is_utf8_with_or_without_a_mark_else_windows_1252(content: bytes, text: str) -> None:
    assert text_of("Notes.TXT", content) == text_of("notes.md", content) == text


@pytest.mark.parametrize("content", [b"a\0b", b"\x81\xff", "text".encode("utf-16"), b"\x1b[31mred", "\x85".encode()])
def test_other_bytes_are_not_text(content: bytes) -> None:
    assert {code_of(name, content) for name in ("n.txt", "n.md", "n.csv")} == {"document_not_text"}


def test_a_table_keeps_its_columns() -> None:
    assert text_of("o.csv", b'Owner;Share\r\n\r\n"B;\r\nC";40\r\n;\r\n') == "Owner | Share\nB; C | 40"
    assert text_of("o.csv", b"a,b\n1,2\n") == text_of("o.csv", b"a\tb\n1\t2\n") == "a | b\n1 | 2"
    assert text_of("o.csv", b"") == ""


@pytest.mark.parametrize("content", [b"a,b\n1\n", b"a,b\n1,2,3\n", b'a,b\n"open,1\n', b'a,b\n"x"y,1\n'])
def test_an_uneven_or_broken_table_is_malformed(content: bytes) -> None:
    assert code_of("o.csv", content) == "document_malformed"


def test_a_cell_beyond_the_csv_limit_is_refused() -> None:
    assert code_of("o.csv", b"a,b\n" + b"x" * 200_000 + b",1\n") == "document_malformed"


def test_a_pdf_gives_its_pages_and_its_form_fields() -> None:
    assert text_of("a.pdf", PLAIN_PDF) == "Company: Acme"
    form = CATALOGUE[:-2] + b"/AcroForm << /Fields [5 0 R] >> >>"
    field = b"<< /FT /Tx /T (Customer) /V (acme) /Type /Annot /Subtype /Widget /Rect [0 0 9 9] >>"
    assert text_of("a.pdf", pdf(form, PAGES, PAGE, stream(SHOWN), field)) == "Company: Acme\nCustomer: acme"


def test_a_mail_gives_headers_body_and_the_names_of_attachments() -> None:
    message = mail()
    message.add_attachment(b"12345", maintype="application", subtype="pdf", filename="two\tlines.pdf")
    lines = text_of("m.eml", message.as_bytes()).split("\n")
    assert lines[:4] == ["From: Lena <lena@acme.example>", "Subject: Größe", "", "Company: Acme"]
    assert lines[-1] == "Attachment, not read: two lines.pdf (application/pdf, 5 bytes)"


def test_a_mail_in_html_gives_what_a_person_sees() -> None:
    assert text_of("m.eml", mail(html_only=True).as_bytes()).split("\n")[3:] == ["One & two", "Three"]


def test_a_mail_without_a_text_body_says_so() -> None:
    content = b"From: a@b.example\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\nMTIz\n"
    expected = "(no text body)\n\nAttachment, not read: without a name (application/pdf, 3 bytes)"
    assert text_of("m.eml", content).endswith(expected)


def test_a_mail_body_without_a_declared_encoding_is_read_like_a_file() -> None:
    assert text_of("m.eml", "From: a@b.example\n\n5 €".encode()).endswith("5 €")


# The reader's process.


def child(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "reader.py"
    path.write_text(f"import os, signal, sys\nsys.stdin.buffer.read()\n{body}\n")
    return path


def test_a_reader_out_of_computing_time_makes_a_final_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_READER", child(tmp_path, "os.kill(os.getpid(), signal.SIGXCPU)"))
    assert code_of("a.pdf", PLAIN_PDF) == "document_too_large"


def test_a_reader_that_never_answers_makes_a_final_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_READER", child(tmp_path, "signal.pause()"))
    monkeypatch.setattr(documents, "_WALL_SECONDS", 0.5)
    assert code_of("a.pdf", PLAIN_PDF) == "document_too_large"


def test_a_reader_that_is_killed_says_nothing_about_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_READER", child(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)"))
    with pytest.raises(RuntimeError, match="Read it again"):
        text_of("a.pdf", PLAIN_PDF)


def test_a_reader_sees_no_environment_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    body = "import json; print(json.dumps({'text': ' '.join(sorted(os.environ)) + ' ' + str(os.getsid(0) == os.getpid())}))"
    monkeypatch.setattr(documents, "_READER", child(tmp_path, body))
    assert set(text_of("a.pdf", PLAIN_PDF).split()) <= {"PYTHONPATH", "LC_CTYPE", "True"}
    assert text_of("a.pdf", PLAIN_PDF).strip().endswith("True")


@pytest.mark.parametrize(
    ("work", "code"),
    [("while True: pass", "document_too_large"), ("held = bytearray(1 << 30)", "document_too_large")],
)
def test_the_limits_of_a_reader_are_in_force(
    work: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The shipped reader with a parser that misbehaves, and one second instead of ten.
    source = Path(reader.__file__).read_text().replace("CPU_SECONDS: Final = 10", "CPU_SECONDS: Final = 1")
    start = 'if __name__ == "__main__":'
    misbehaving = f'def _bad(content: bytes) -> str:\n    {work}\n    return ""\n\n_FORMATS["pdf"] = ("PDF", _bad)\n'
    path = tmp_path / "reader.py"
    path.write_text(source.replace(start, misbehaving + start))
    monkeypatch.setattr(documents, "_READER", path)
    assert code_of("a.pdf", PLAIN_PDF) == code


def test_a_missing_library_is_not_the_documents_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", nothing)
    with pytest.raises(ModuleNotFoundError, match=r"counterfoil\[demo\]"):
        text_of("a.pdf", PLAIN_PDF)


# The folder.


def test_a_folder_gives_its_regular_files_by_name(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "C.csv", ".hidden.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inside.md").write_text("x")
    (tmp_path / "link.md").symlink_to(tmp_path / "b.md")
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.md")
    assert documents_in(tmp_path) == [tmp_path / "C.csv", tmp_path / "a.txt", tmp_path / "b.md"]


def make_missing(folder: Path) -> None:
    folder.rmdir()


def make_file(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("x")


def make_hidden_only(folder: Path) -> None:
    (folder / ".hidden").write_text("x")


def make_full(folder: Path) -> None:
    for number in range(documents.MAX_DOCUMENTS + 1):
        (folder / f"{number}.md").touch()


def make_badly_named(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).touch()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (make_missing, "folder_missing"),
        (make_file, "folder_missing"),
        (make_hidden_only, "folder_empty"),
        (make_full, "folder_too_large"),
        (make_badly_named, "document_not_text"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(make: Callable[[Path], None], code: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    with pytest.raises(StepFailed) as caught:
        documents_in(folder)
    assert caught.value.code == code


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(StepFailed) as caught:
        documents_in(Path("a\0b"))
    assert caught.value.code == "folder_missing"


def test_content_is_read_up_to_the_limit_and_through_no_link(tmp_path: Path) -> None:
    large, link, pipe = tmp_path / "large.md", tmp_path / "link.md", tmp_path / "pipe.md"
    large.touch()
    os.truncate(large, MAX_BYTES)
    assert len(content_of(large)) == MAX_BYTES
    os.truncate(large, 1 << 40)
    with pytest.raises(StepFailed) as caught:
        content_of(large)
    assert caught.value.code == "document_too_large"
    link.symlink_to(large)
    os.mkfifo(pipe)
    for path in (link, pipe, tmp_path):
        with pytest.raises(OSError):
            content_of(path)
