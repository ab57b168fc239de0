"""GET: which records a question may see now, and a page of those that fit."""

from collections.abc import Mapping

from counterfoil.testing.loopback.exchange import Reply, Request, error_reply
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.records import Record, Records

_PAGING = frozenset({"limit", "starting_after"})
_LARGEST_PAGE = 100


class Lookups:
    """Answers GET requests over the records, with the lag and consistency of the contract. Not thread-safe."""

    def __init__(self, contract: SandboxContract, records: Records) -> None:
        self._contract = contract
        self._records = records
        self._asked = 0

    def hidden(self, path: str, now: float) -> int:
        """How many records of this path there are that a lookup does not show yet."""
        lag = self._contract.lookup_lag_seconds
        return sum(record.at_seconds + lag > now for record in self._records if record.path == path)

    def answer(self, request: Request, now: float) -> Reply:
        """`GET /PATH?reference=..|key=..|FIELD=..&limit=..&starting_after=..`, or `GET /PATH/ID`."""
        if not self._contract.lookup:
            return error_reply(405, "no_lookup", "this receiver shows nothing of what it has done")
        visible = self._visible(now)
        path = request.path.rstrip("/") or "/"
        above, _, last = path.rpartition("/")
        one = next((record for record in visible if (record.path, record.id) == (above, last)), None)
        if one is not None:
            return Reply(200, one.shown())
        if above and not request.query and not any(record.path == path for record in self._records):
            return error_reply(404, "not_found", f"there is no {path}")
        return self._page([record for record in visible if record.path == path], request.query)

    def _visible(self, now: float) -> list[Record]:
        self._asked += 1
        lag = self._contract.lookup_lag_seconds
        if self._contract.lookup_consistency == "eventual" and self._asked % 2 == 0:
            lag *= 2
        return [record for record in self._records if record.at_seconds + lag <= now]

    def _page(self, records: list[Record], query: Mapping[str, str]) -> Reply:
        selectors = {name: value for name, value in query.items() if name not in _PAGING}
        refused = ({"reference", "key"} & selectors.keys()) - self._contract.lookup_by
        if refused:
            return error_reply(400, "unknown_selector", f"this receiver does not find by {', '.join(sorted(refused))}")
        limit = query.get("limit", str(_LARGEST_PAGE))
        if not limit.isdecimal() or not 1 <= int(limit) <= _LARGEST_PAGE:
            return error_reply(400, "bad_limit", f"limit is 1 to {_LARGEST_PAGE}")
        shown = [record.shown() for record in records]
        found = [item for item in shown if all(str(item.get(name)) == value for name, value in selectors.items())]
        after = query.get("starting_after")
        if after is not None:
            ids = [item["id"] for item in found]
            if after not in ids:
                return error_reply(400, "unknown_cursor", f"there is no record {after} in this list")
            found = found[ids.index(after) + 1 :]
        return Reply(200, {"data": found[: int(limit)], "has_more": len(found) > int(limit)})
