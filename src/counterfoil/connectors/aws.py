"""One request through boto3: its own retries off, its errors told to the contract. Where it goes: boto3's own settings.

Who acts is the receiver's credential, `Named(access_key_id=..., secret_access_key=...)`; where it names none, what boto3 finds
(environment, profile, role). Either is read before the attempt, whose fingerprint holds the access key's id. What narrows a key
at AWS is account, region and resource, so each payload names its resource in full.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from counterfoil.engine.definitions import Held, Resolve
from counterfoil.engine.port import Ask as Asked
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


@dataclass(frozen=True, slots=True)
class FoundByBoto3:
    """What boto3 finds by itself, in this profile or in its own: the fingerprint is the access key's id.

    A role's key changes by the hour, and whether it is still the same account cannot be told from it: after such a change no
    try is repeated by itself. `account`: the account that it is in any case, by your word; then that is the fingerprint.
    """

    profile: str | None = None
    account: str | None = None

    @property
    def blocks(self) -> bool:
        """It reads files, and may ask for a role."""
        return True

    def held(self, read: Resolve) -> Held:
        """As it is now. Raises Refused(tool_missing, credential_missing)."""
        del read
        needed()
        where = "of boto3" if self.profile is None else f"of boto3's profile {self.profile}"
        try:
            found = import_module("botocore.session").Session(profile=self.profile).get_credentials()
            keys = None if found is None else found.get_frozen_credentials()
        except Exception as problem:  # its words may quote what it has read
            raise Refused("credential_missing", where=where, problem=type(problem).__name__) from None
        if keys is None:
            raise Refused("credential_missing", where=where, problem="boto3 finds none")
        named = {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key, "session_token": keys.token}
        values = {name: str(value) for name, value in named.items() if value}
        secrets = tuple(value for name, value in values.items() if name != "access_key_id")
        return Held({}, values, self.account or keys.access_key, secrets)


def client(service: str, region: str | None, credential: Mapping[str, str] | None = None) -> Any:
    """A client of its own for one request: no pool from which a stale connection could eat it, and exactly one try.

    `credential`: an attempt's. Raises Refused(tool_missing) where boto3 is not installed.
    """
    needed()
    config = import_module("botocore.config").Config(
        retries={"total_max_attempts": 1}, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS
    )
    # A session of its own as well: boto3's default one may not be used by several threads.
    made = (
        import_module("boto3")
        .session.Session()
        .client(
            service,
            region_name=region,
            config=config,
            **{f"aws_{name}": value for name, value in (credential or {}).items()},
        )
    )
    made.meta.events.register("before-parse", _whole)
    return made


def sent(call: Call, service: str, region: str | None, ask: Ask) -> dict[str, Any]:
    """The one write of an attempt: `ask(client, key)`. Gives an answer that the contract calls applied; else the attempt is over.

    An error of the service is told with its status and as `{"Error": {"Code": ..., "Message": ...}}`; any other exception
    says nothing about whether the request arrived.
    """
    errors: Any = import_module("botocore.exceptions")
    made = client(service, region, call.credential)  # before anything is in flight: what fails here was never sent

    def answered(problem: Any) -> Told | None:
        if not isinstance(problem, errors.ClientError):
            return None
        return _status(problem), {"Error": _plain(problem.response.get("Error", {}))}, None

    with call.sending(answered=answered) as sending:
        answer = _plain(ask(made, sending.key))
        sending.reply(200, answer)
    return answer


def read(
    by: Call | Asked, service: str, region: str | None, ask: Callable[[Any], Mapping[str, Any]], *, absent: str
) -> Any:
    """A read for a lookup, or before a write. None where the service answers with the error `absent`.

    Every other one is raised: it proves nothing.
    """
    errors: Any = import_module("botocore.exceptions")
    try:
        return ask(client(service, region, by.credential))
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
