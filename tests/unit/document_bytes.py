"""Bytes of real and of hostile documents, written out by hand: no library would write the hostile ones."""

import zlib
from email.message import EmailMessage

import pytest

from counterfoil import StepFailed
from counterfoil.examples.onboarding.documents import text_of


def code_of(name: str, content: bytes) -> str:
    with pytest.raises(StepFailed) as caught:
        text_of(name, content)
    assert repr(name) in caught.value.message
    return caught.value.code


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """Object 1 is the catalogue."""
    out, offsets = b"%PDF-1.7\n", list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        size,
        trailer,
        len(out),
    )
    return out


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
FONT = b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R %s >>" % FONT
SHOWN = b"BT /F1 10 Tf 60 700 Td (Company: Acme) Tj ET"
AES_256 = (
    b"<< /Filter /Standard /V 5 /R 6 /Length 256 /P -4 /EncryptMetadata true /StmF /StdCF /StrF /StdCF"
    b" /CF << /StdCF << /AuthEvent /DocOpen /CFM /AESV3 /Length 32 >> >>"
    b" /O <%(w)s> /U <%(w)s> /OE <%(h)s> /UE <%(h)s> /Perms <%(p)s> >>"
    % {b"w": b"61" * 48, b"h": b"62" * 32, b"p": b"63" * 16}
)
PLAIN_PDF = pdf(CATALOGUE, PAGES, PAGE, stream(SHOWN))


def deflated(content: bytes) -> bytes:
    return stream(zlib.compress(content, 9), b"/Filter /FlateDecode")


def many_pages(count: int) -> bytes:
    kids = b" ".join(b"3 0 R" for _ in range(count))
    return pdf(CATALOGUE, b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count), PAGE, stream(SHOWN))


def doubling_page_tree() -> bytes:
    nodes = [b"<< /Type /Pages /Kids [%d 0 R %d 0 R] /Count 2 >>" % (n + 1, n + 1) for n in range(2, 62)]
    return pdf(CATALOGUE, *nodes, b"<< /Type /Page /MediaBox [0 0 9 9] >>")


def nested_mail(depth: int) -> bytes:
    opened = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(depth))
    closed = b"".join(b"\n--b%d--" % n for n in reversed(range(depth)))
    return b"From: a@b.example\n" + opened + b"\ntext\n" + closed + b"\n"


def mail(*, html_only: bool = False) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Lena <lena@acme.example>"
    message["Subject"] = "Größe"
    if html_only:
        message.set_content("<title>no</title><p>One &amp; <b>two</b><script>bad()</script><p>Three", subtype="html")
    else:
        message.set_content("Company: Acme\n")
    return message
