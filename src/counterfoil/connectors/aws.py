"""One request through boto3: its own retries off, its errors told to the contract. Where, who and which keys: boto3's own settings.

Credentials are found by boto3 (environment, profile, role) when they are needed, and are never seen here. What narrows a
key at AWS is account, region and resource, so each payload names its resource in full.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from counterfoil.engine.port import Call
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Told

INSTALL = "Install it: pip install 'counterfoil[connectors]'"
CONNECT_SECONDS, READ_SECONDS = 5, 20  # together below a contract's request_timeout


class CutReply(Exception):
    """A reply shorter than it says it is. botocore itself takes what came for the whole."""


Ask = Callable[[Any, str | None], Mapping[str, Any]]


def needed() -> None:
    """Raises Refused(tool_missing) where boto3 is not installed."""
    if find_spec("boto3") is None:
        raise Refused("tool_missing", tool="The Python package boto3", install=INSTALL)


def client(service: str, region: str | None) -> Any:
    """A client of its own for one request: no pool from which a stale connection could eat it, and exactly one try.

    Raises Refused(tool_missing) where boto3 is not installed.
    """
    needed()
    config = import_module("botocore.config").Config(
        retries={"total_max_attempts": 1}, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS
    )
    # A session of its own as well: boto3's default one may not be used by several threads.
    made = import_module("boto3").session.Session().client(service, region_name=region, config=config)
    made.meta.events.register("before-parse", _whole)
    return made


def sent(call: Call, service: str, region: str | None, ask: Ask) -> dict[str, Any]:
    """The one write of an attempt: `ask(client, key)`. Gives an answer that the contract calls applied; else the attempt is over.

    An error of the service is told with its status and as `{"Error": {"Code": ..., "Message": ...}}`; any other exception
    says nothing about whether the request arrived.
    """
    errors: Any = import_module("botocore.exceptions")
    made = client(service, region)  # before anything is in flight: what fails here was never sent

    def answered(problem: Any) -> Told | None:
        if not isinstance(problem, errors.ClientError):
            return None
        return _status(problem), {"Error": _plain(problem.response.get("Error", {}))}, None

    with call.sending(answered=answered) as sending:
        answer = _plain(ask(made, sending.key))
        sending.reply(200, answer)
    return answer


def read(service: str, region: str | None, ask: Callable[[Any], Mapping[str, Any]], *, absent: str) -> Any:
    """A read for a lookup. None where the service answers with the error `absent`; every other one is raised: it proves nothing."""
    errors: Any = import_module("botocore.exceptions")
    try:
        return ask(client(service, region))
    except errors.ClientError as told:
        if told.response.get("Error", {}).get("Code") == absent:
            return None
        raise


def region_of(arn: str) -> str:
    """The region in `arn:aws:SERVICE:REGION:ACCOUNT:...`."""
    return arn.split(":")[3]


def _whole(response_dict: Mapping[str, Any], operation_model: Any, **_: Any) -> None:
    """Before botocore reads a reply. A streamed body is not read here; the answer to a HEAD says a length and has none."""
    body, length = response_dict["body"], str(response_dict["headers"].get("content-length", ""))
    if operation_model.http["method"] == "HEAD" or not isinstance(body, bytes) or not length.isdigit():
        return
    if len(body) < int(length):
        raise CutReply(f"{len(body)} of {length} bytes came.")


def _status(told: Any) -> int:
    return int(told.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 500)


def _plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}
