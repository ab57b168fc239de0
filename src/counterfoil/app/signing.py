"""The private half of an approval key: only the process that takes answers holds it, in a file that nobody else may read."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil import settings
from counterfoil.engine.opened import Opened
from counterfoil.engine.reviews import Signature
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewRecord
from counterfoil.rules.signing import Keys, key_id_of, keys_of, statement
from counterfoil.store.port import Reader

SETTING = "COUNTERFOIL_APPROVAL_KEY"
FOLDER, FILE = ".counterfoil", "approval.key"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key in this process. `public_key` is its public half as hex."""

    public_key: str
    _private: Any

    @property
    def key_id(self) -> str:
        return key_id_of(self.public_key)

    def sign(self, text: str) -> str:
        """The signature as hex."""
        return self._private.sign(text.encode()).hex()


def key_file(location: Path) -> Path:
    """COUNTERFOIL_APPROVAL_KEY, else the file that `init` made beside the secrets of the database at `location`."""
    named = settings.value_of(SETTING)
    return Path(named) if named else location.absolute().parent / FOLDER / FILE


def signer_in(file: Path) -> Signer:
    """Raises Refused(approval_key_unusable): unreadable, open to others, or no Ed25519 key in PEM."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(1 << 16)
    except OSError as problem:
        raise Refused("approval_key_unusable", where=str(file), problem=problem.strerror or str(problem)) from problem
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise Refused("approval_key_unusable", where=str(file), problem="others may read it; make it mode 0600")
    try:
        private = load_pem_private_key(content, None)
    except (ValueError, TypeError) as problem:
        raise Refused("approval_key_unusable", where=str(file), problem="it is no private key in PEM") from problem
    if not isinstance(private, Ed25519PrivateKey):
        raise Refused("approval_key_unusable", where=str(file), problem="it is no Ed25519 key")
    return Signer(private.public_key().public_bytes_raw().hex(), private)


def key_here(location: Path, keys: Keys) -> bool | None:
    """Whether the private key of this process counts; None where its file is not there."""
    file = key_file(location)
    if not file.exists():
        return None
    try:
        return signer_in(file).key_id in keys.live
    except Refused:
        return False


def signer_here(location: Path, keys: Keys) -> Signer | None:
    """The private key of this process; None where its file is not there. Raises Refused(approval_key_unusable)."""
    file = key_file(location)
    if not settings.value_of(SETTING) and not file.exists():
        return None
    signer = signer_in(file)
    if signer.key_id not in keys.live:
        raise Refused(
            "approval_key_unusable", where=str(file), problem=f"{signer.key_id} is not registered, or revoked"
        )
    return signer


def new_key(file: Path) -> Signer:
    """Make a key, its private half in a new file of mode 0600. Raises Refused(approval_key_unusable): the file is there."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        # Made with its mode: a file that is narrowed afterwards can be read in between.
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "wb") as stream:
            stream.write(pem)
    except OSError as problem:
        raise Refused("approval_key_unusable", where=str(file), problem=problem.strerror or str(problem)) from problem
    return Signer(private.public_key().public_bytes_raw().hex(), private)


def signed_answer(
    opened: Opened,
    reader: Reader,
    review: ReviewRecord,
    person: str,
    *,
    approve: bool,
    comment: str,
    ask_revision: bool,
) -> Signature | None:
    """The answer, signed; None where the installation has no approval keys, and for a rejection without a key here.

    A rejection sends nothing, so it must be possible without a key. Raises Refused(approval_unsigned, approval_key_unusable).
    """
    keys = keys_of(opened.installation_id, reader.rows(ApprovalKeyRecord))
    if not keys.required:
        return None
    signer = signer_here(opened.location, keys)
    if signer is None:
        if approve:
            raise Refused("approval_unsigned")
        return None
    decision = "approve" if approve else "reject"
    text = statement(
        opened.installation_id, review, person, decision,
        comment=comment, ask_revision=ask_revision, at=opened.clock.now_us(),
    )  # fmt: skip
    return Signature(signer.key_id, text, signer.sign(text))
