"""The receiver of a story, and what it holds by its own account."""

import json
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.sandbox.process import SandboxProcess


class Receiver(Protocol):
    """Where a story's write goes. `witness` is `{records, record_ids, requests, records_file}`."""

    url: str

    @property
    def environment(self) -> dict[str, str]:
        """More variables that the application needs to reach it."""
        ...

    def witness(self) -> dict[str, Any]: ...

    def close(self) -> int: ...


class SandboxReceiver(SandboxProcess):
    """The sandbox, as a process of its own."""

    @property
    def environment(self) -> dict[str, str]:
        """Its url says all."""
        return {}

    def witness(self) -> dict[str, Any]:
        """By its control address, which shows what its record file holds."""
        state = self.get("")
        ids = [str(record["id"]) for record in as_objects(state["records"])]
        return {
            "records": len(ids),
            "record_ids": ids,
            "requests": state["requests"],
            "records_file": str(self.records_file),
        }


class OtherReceiver:
    """Somebody else's process behind our proxy, which counts requests and loses replies.

    Records are those that came into being since this was made, if it tells them at its control address; else null.
    """

    @property
    def environment(self) -> dict[str, str]:
        """Its url says all."""
        return {}

    def __init__(self, url: str, *, fault: str | None = None) -> None:
        self._to = url.rstrip("/")
        self._before = self._ids() or []
        self._proxy = ProxyProcess(url, fault=fault)
        self.url = self._proxy.url

    def witness(self) -> dict[str, Any]:
        found = self._ids()
        ids = None if found is None else [id_ for id_ in found if id_ not in self._before]
        return {
            "records": None if ids is None else len(ids),
            "record_ids": ids or [],
            "requests": self._proxy.get("")["requests"],
            "records_file": None,
        }

    def close(self) -> int:
        return self._proxy.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ids(self) -> list[str] | None:
        place = urlsplit(f"{self._to}/_control/records")
        if place.scheme != "http":
            return None
        connection = HTTPConnection(place.hostname or "", place.port, timeout=5)
        with suppress(OSError, HTTPException, ValueError):
            try:
                connection.request("GET", place.path)
                response = connection.getresponse()
                said = as_object(json.loads(response.read())) if response.status == 200 else {}
            finally:
                connection.close()
            return [str(record.get("id")) for record in as_objects(said["records"])] if "records" in said else None
        return None
