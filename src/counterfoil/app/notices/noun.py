"""The noun `notices`: who is told, and what was told."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.notices.addresses import Addresses, WebhookAddress
from counterfoil.app.notices.apart import Apart
from counterfoil.app.views.listing import listed
from counterfoil.engine.definitions import Env
from counterfoil.engine.opened import Opened
from counterfoil.model.duty import NoticeRecord
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339


class Notices:
    """`app.notices`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened
        self.addresses = Addresses()
        self.apart = Apart()

    def to(self, who: str, *urls: str | Env) -> None:
        """Tell a person or role at these Apprise addresses; `*` is told of everything. Raises Refused(name_taken, usage)."""
        if not urls:
            raise Refused("usage", problem=f"{who!r} has no address")
        if who in self.addresses.people:
            raise Refused("name_taken", name=who)
        self.addresses.people[who] = urls

    def webhook(self, name: str, url: str | Env, *, secret: Env) -> None:
        """Tell another system by signed POSTs (Standard Webhooks). Raises Refused(name_taken)."""
        if name in self.addresses.webhooks:
            raise Refused("name_taken", name=name)
        self.addresses.webhooks[name] = WebhookAddress(name, url, secret)

    def about(self, subject: str) -> dict[str, Any]:
        """`{items: [{what, recipient, channel, made_at, sent_at, tries, next_try_at, problem}], next_cursor}` of one thing by id."""
        with self._opened().read() as reader:
            return listed([_view(notice) for notice in reader.find(NoticeRecord, "subject", subject)], None)


def _view(notice: NoticeRecord) -> dict[str, Any]:
    return {
        "what": notice.what, "recipient": notice.recipient, "channel": notice.channel, "made_at": rfc3339(notice.made_at),
        "sent_at": rfc3339(notice.sent_at), "tries": notice.tries, "next_try_at": rfc3339(notice.next_try_at),
        "problem": notice.problem,
    }  # fmt: skip
