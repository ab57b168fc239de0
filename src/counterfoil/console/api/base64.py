"""Files inside a JSON document."""

from base64 import b64decode

from counterfoil.model.errors import Refused


def bytes_of(text: str, where: str) -> bytes:
    """Raises Refused(invalid_payload) for what is not base64."""
    try:
        return b64decode(text, validate=True)
    except ValueError as problem:
        raise Refused("invalid_payload", where=where, problem="it is not base64") from problem
