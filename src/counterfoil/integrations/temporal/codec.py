"""Encrypt what Temporal stores: inputs, results and failures' details are unreadable without the key.

AES-256-GCM with a fresh nonce for each payload. Keys are named, so that a new one can be used while older histories are read.
"""

from collections.abc import Callable, Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from counterfoil.engine.clock import Chance
from counterfoil.model.errors import Refused

ENCODING = b"binary/counterfoil-aes256gcm"
NONCE_BITS = 96


class EncryptionCodec(PayloadCodec):
    """`key(name)` gives 32 bytes: from a secret store, by reference. New payloads are encrypted under `current`."""

    def __init__(self, key: Callable[[str], bytes] | Mapping[str, bytes], *, current: str) -> None:
        self._key = key if callable(key) else key.__getitem__
        self._current = current
        self._chance = Chance()

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Each payload whole, its metadata too."""
        return [self._encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """What was not encrypted is left as it is. Raises Refused(temporal_key) without the key, or for changed bytes."""
        return [self._decrypted(each) if each.metadata.get("encoding") == ENCODING else each for each in payloads]

    def _encrypted(self, payload: Payload) -> Payload:
        nonce = bytes.fromhex(self._chance.hex(NONCE_BITS))
        sealed = AESGCM(self._key(self._current)).encrypt(nonce, payload.SerializeToString(), self._current.encode())
        return Payload(metadata={"encoding": ENCODING, "key": self._current.encode()}, data=nonce + sealed)

    def _decrypted(self, payload: Payload) -> Payload:
        name = payload.metadata["key"].decode()
        try:
            nonce, sealed = payload.data[: NONCE_BITS // 8], payload.data[NONCE_BITS // 8 :]
            return Payload.FromString(AESGCM(self._key(name)).decrypt(nonce, sealed, name.encode()))
        except (KeyError, InvalidTag) as problem:
            raise Refused("temporal_key", key=name) from problem
