"""Where an operation's receiver is reached, and the scope digest that narrows its keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from counterfoil.engine.definitions import Env, Keyring, Operation, ReceiverDefinition, Registry, SecretFile
from counterfoil.model.codec import digest_of
from counterfoil.model.errors import Refused
from counterfoil.rules.key_window import scope_digest


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`headers` hold the credential and are never stored.

    `scope` is the digest of what narrows the key; `approval_scope` of receiver, environment and credential in full.
    """

    url: str
    headers: dict[str, str]
    scope: str
    approval_scope: str


def endpoint_of(
    registry: Registry, operation: Operation[object, object], environ: Mapping[str, str], session: str = ""
) -> Endpoint:
    """Raises Refused(setting_missing | credential_missing | unknown_receiver)."""
    receiver = _receiver_of(registry, operation)
    url = value_of(receiver.url, environ)
    token = "" if receiver.credential is None else value_of(receiver.credential.token, environ)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    fingerprint = digest_of(token.encode())
    parts = {"endpoint": url, "environment": receiver.environment, "credential": fingerprint, "session": session}
    approval_scope = digest_of("\x1f".join((url, receiver.environment, fingerprint)).encode())
    return Endpoint(url, headers, scope_digest(operation.contract, parts), approval_scope)


def account_of(registry: Registry, operation: Operation[object, object]) -> str:
    """The receiver and its environment, within which a business key is one intention. No setting is read for it: it is asked
    for at every replay, and what has happened must not depend on a credential of today. Raises Refused(unknown_receiver)."""
    receiver = _receiver_of(registry, operation)
    return f"{receiver.name}\x1f{receiver.environment}"


def _receiver_of(registry: Registry, operation: Operation[object, object]) -> ReceiverDefinition:
    receiver = registry.receivers.get(operation.receiver)
    if receiver is None:
        raise Refused("unknown_receiver", name=operation.name, receiver=operation.receiver)
    return receiver


def value_of(given: str | Env | SecretFile | Keyring, environ: Mapping[str, str]) -> str:
    """What a reference stands for here and now. Raises Refused(setting_missing, credential_missing)."""
    if isinstance(given, str):
        return given
    if isinstance(given, SecretFile):
        return _in_file(given)
    if isinstance(given, Keyring):
        return _in_keyring(given)
    value = environ.get(given.name, given.default)
    if value is None:
        raise Refused("setting_missing", name=given.name)
    return value


def _in_file(given: SecretFile) -> str:
    try:
        value = Path(given.path).read_text("utf-8").strip()
    except (OSError, ValueError) as problem:
        # Not the exception's own words: of a file that is no text they quote the bytes.
        raise Refused("credential_missing", where=given.path, problem=type(problem).__name__) from None
    if not value:
        raise Refused("credential_missing", where=given.path, problem="the file is empty")
    return value


def _in_keyring(given: Keyring) -> str:
    where = f"{given.service} {given.name}"
    try:
        import keyring

        value = keyring.get_password(given.service, given.name)
    except Exception as problem:
        raise Refused("credential_missing", where=where, problem=type(problem).__name__) from None
    if not value:
        raise Refused("credential_missing", where=where, problem="the keyring has none of this name")
    return value
