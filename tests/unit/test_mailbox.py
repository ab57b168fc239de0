"""A mailbox in which others write too."""

from datetime import UTC, datetime
from mailbox import Maildir as Box
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from counterfoil.connectors import mail

OURS = mail.Mail(
    number="1", sender="shop@shop.example", to="ana@example.com", subject="Your order", body="It is on its way.\n"
)
ASK: Any = cast("Any", SimpleNamespace(operation_id="op_" + "a" * 26, first_sent_at=datetime.now(UTC)))


def box(tmp_path: Path, *messages: bytes) -> mail.Maildir:
    made = Box(tmp_path / "sent")
    for message in messages:
        made.add(message)
    return mail.Maildir(str(tmp_path / "sent"))


@pytest.mark.parametrize("odd", ["<>", "<", "<[", "<>x", "<a@[", "", "=?utf-8?q?x?="])
def test_what_others_wrote_blinds_no_look(tmp_path: Path, odd: str) -> None:
    other = f"Message-ID: {odd}\r\nSubject: x\r\n\r\nbody\r\n".encode()
    seen = box(tmp_path, other, mail.written(OURS, ASK.operation_id), other).find(ASK, OURS)
    (found,) = seen.records
    assert found.payload == OURS and seen.complete


def test_a_message_that_only_quotes_ours_is_not_ours(tmp_path: Path) -> None:
    marker = mail.message_id(ASK.operation_id, OURS)
    reply = f"Message-ID: <other@example.com>\r\nIn-Reply-To: {marker}\r\n\r\nMessage-ID: {marker}\r\n".encode()
    assert not box(tmp_path, reply).find(ASK, OURS).records
