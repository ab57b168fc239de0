"""Large bytes by digest."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from counterfoil.model.errors import Refused
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.port import StorageError

CONTENT = b"a contract of forty pages"
HEX = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "ledger.db")


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db.artifacts" / HEX[:2] / HEX[2:]


def test_bytes_are_kept_under_their_digest(store: ArtifactStore, tmp_path: Path) -> None:
    artifact = store.save(CONTENT, name="contract.pdf")
    assert (artifact.name, artifact.digest, artifact.size) == ("contract.pdf", f"sha256:{HEX}", len(CONTENT))
    assert store.read(artifact.digest) == CONTENT
    assert file_of(tmp_path).read_bytes() == CONTENT


def test_saving_twice_is_harmless(store: ArtifactStore, tmp_path: Path) -> None:
    store.save(CONTENT, name="one")
    before = file_of(tmp_path).stat()
    assert store.save(CONTENT, name="two").digest == f"sha256:{HEX}"
    assert file_of(tmp_path).stat().st_mtime_ns == before.st_mtime_ns
    assert [file.name for file in file_of(tmp_path).parent.iterdir()] == [HEX[2:]]


def test_empty_bytes_are_bytes(store: ArtifactStore) -> None:
    assert store.read(store.save(b"", name="empty").digest) == b""


def test_changed_bytes_are_damaged_until_saved_again(store: ArtifactStore, tmp_path: Path) -> None:
    artifact = store.save(CONTENT, name="contract.pdf")
    file_of(tmp_path).write_bytes(b"another contract")
    with pytest.raises(Refused) as caught:
        store.read(artifact.digest)
    assert caught.value.code == "artifact_damaged"
    store.save(CONTENT, name="contract.pdf")
    assert store.read(artifact.digest) == CONTENT


@pytest.mark.parametrize(
    "digest",
    [f"sha256:{'0' * 64}", "sha256:../../etc/passwd", "md5:abc", "", f"sha256:{'G' * 64}", f"sha256:{'a' * 63}"],
)
def test_what_is_not_there_is_missing(store: ArtifactStore, digest: str) -> None:
    store.save(CONTENT, name="contract.pdf")
    with pytest.raises(Refused) as caught:
        store.read(digest)
    assert caught.value.code == "artifact_missing"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger.db.artifacts").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="the artifact folder"):
        ArtifactStore(tmp_path / "ledger.db").save(CONTENT, name="contract.pdf")


def test_two_threads_save_the_same_bytes_at_once(tmp_path: Path) -> None:
    store, together = ArtifactStore(tmp_path / "a.db"), Barrier(2)

    def save(n: int) -> None:
        together.wait(20)
        store.save(b"bytes %d" % n, name="x")

    with ThreadPoolExecutor(2) as threads:
        for n in range(40):
            for saved in [threads.submit(save, n) for _ in range(2)]:
                saved.result(20)
