"""Backups of a ledger in use: one instant, whole or not there, checked without touching what is live, recognised when put back."""

import asyncio
import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.app import backups
from counterfoil.app.backups import MANIFEST
from counterfoil.engine.port import Run
from counterfoil.engine.submission import submission
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case


def note(number: str) -> str:
    return f"note {number}"


def lived_in(house: House, runs: int = 3) -> Any:
    """Runs that are over, one of them with an artifact."""
    house.found()

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        await run.step(note, order.number)
        await run.step(kept, order.number)
        return "done"

    def kept(number: str) -> Any:
        return house.app.open().artifacts.save(f"letter {number}".encode(), name="letter").model_dump()

    drive(house, flow, *(str(n) for n in range(runs)))
    return flow


def drive(house: House, flow: Any, *numbers: str) -> None:
    async def play() -> None:
        made = [(await house.app.submit(flow, Order(number=n), request_id=n)).run_id for n in numbers]
        async with house.working():
            for run_id in made:
                await house.state(run_id, "completed")

    asyncio.run(play())


def test_it_is_whole_and_has_everything(house: House, tmp_path: Path) -> None:
    lived_in(house)
    made = house.app.backups.create(tmp_path / "backup")
    found = house.app.backups.verify(tmp_path / "backup")
    assert found["sound"] and found["damaged"] == [] and found["digest"] == made["digest"]
    assert found["record"]["entries"] == house.app.verify()["entries"]
    assert found["record"]["chains"] == house.app.verify()["chains"]
    assert {p.name for p in (tmp_path / "backup").iterdir()} >= {"ledger.db", MANIFEST, "ledger.db.artifacts"}
    assert len([p for p in (tmp_path / "backup" / "ledger.db.artifacts").rglob("*") if p.is_file()]) == 3
    assert not (tmp_path / "backup.partial").exists()


def test_workers_go_on_and_it_is_of_one_instant(house: House, tmp_path: Path) -> None:
    flow = lived_in(house, 1)
    before = house.app.verify()["entries"]
    seen: list[str] = []

    def meanwhile(what: str, done: int, of: int) -> None:
        if what == "pages" and not seen:
            seen.append(what)
            opened, given = house.app.open(), {"number": "meanwhile", "amount": 1}
            house.ask(submission(opened.installation_id, flow, given, "meanwhile", opened.deadlines))

    house.app.backups.create(tmp_path / "backup", meanwhile)
    assert house.app.verify()["entries"] == before + 1, "a commit came in between"
    found = house.app.backups.verify(tmp_path / "backup")
    assert found["sound"] and found["record"]["entries"] == before


def test_what_is_there_is_never_written_over(house: House, tmp_path: Path) -> None:
    lived_in(house, 1)
    (tmp_path / "backup").mkdir()
    with pytest.raises(Refused) as refused:
        house.app.backups.create(tmp_path / "backup")
    assert refused.value.code == "backup_exists"


def test_one_that_was_cut_off_is_no_backup_and_is_begun_anew(house: House, tmp_path: Path) -> None:
    lived_in(house, 1)

    def cut(what: str, done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        house.app.backups.create(tmp_path / "backup", cut)
    assert not (tmp_path / "backup").exists()
    with pytest.raises(Refused) as refused:
        house.app.backups.verify(tmp_path / "backup.partial")
    assert refused.value.code == "no_backup"
    house.app.backups.create(tmp_path / "backup")
    assert house.app.backups.verify(tmp_path / "backup")["sound"]


def test_every_damage_is_found(house: House, tmp_path: Path) -> None:
    lived_in(house, 1)
    good = tmp_path / "good"
    house.app.backups.create(good)
    names = [each["path"] for each in json.loads((good / MANIFEST).read_text())["files"]]
    assert len(names) >= 3
    for number, name in enumerate(names):
        for kind in ("missing", "changed"):
            bad = tmp_path / f"bad-{number}-{kind}"
            shutil.copytree(good, bad)
            if kind == "missing":
                (bad / name).unlink()
            else:
                content = bytearray((bad / name).read_bytes()) or bytearray(b"x")
                content[len(content) // 2] ^= 1
                (bad / name).write_bytes(bytes(content) if (bad / name).stat().st_size else b"x")
            found = house.app.backups.verify(bad)
            assert not found["sound"] and {"path": name, "problem": kind} in found["damaged"], (name, kind)
    shutil.copytree(good, tmp_path / "more")
    (tmp_path / "more" / "letter.txt").write_text("not ours")
    assert house.app.backups.verify(tmp_path / "more")["damaged"] == [{"path": "letter.txt", "problem": "unknown"}]


def test_a_record_that_was_rewritten_is_found_although_the_manifest_agrees(house: House, tmp_path: Path) -> None:
    lived_in(house, 1)
    folder = tmp_path / "backup"
    house.app.backups.create(folder)
    with closing(apsw.Connection(str(folder / "ledger.db"))) as connection:
        connection.execute("UPDATE entries SET body = replace(body, 'note 0', 'note 9')")
    _agree(folder)
    found = house.app.backups.verify(folder)
    assert not found["sound"] and found["damaged"] == []
    assert [broken["problem"] for broken in found["record"]["broken"]] == ["rewritten"]


def test_an_artifact_that_the_record_names_and_nobody_copied_is_missed(house: House, tmp_path: Path) -> None:
    lived_in(house, 1)
    folder = tmp_path / "backup"
    house.app.backups.create(folder)
    (letter,) = [path for path in (folder / "ledger.db.artifacts").rglob("*") if path.is_file()]
    letter.unlink()
    _agree(folder)
    found = house.app.backups.verify(folder)
    assert not found["sound"]
    assert [each["problem"] for each in found["damaged"]] == ["missing"] and "artifact sha256:" in found["damaged"][0][
        "path"
    ]


def sending(house: House) -> Any:
    """A workflow that makes a case at the receiver."""
    operation = create_case(house.app, "key")

    @house.app.workflow(version=1, budget=BUDGET)
    async def sends(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    return sends


@pytest.mark.parametrize("state_lost", [False, True])
def test_put_back_it_is_recognised_and_nothing_is_sent(
    house_with_crm: House, crm: SandboxProcess, tmp_path: Path, state_lost: bool
) -> None:
    house = house_with_crm
    house.found()
    flow = sending(house)
    drive(house, flow, "before")
    house.app.backups.create(tmp_path / "backup")
    drive(house, flow, "after")
    held = len(crm.records())
    assert held == 2
    if state_lost:
        _marker_put_back(house, tmp_path / "backup")
    _put_back(house, tmp_path / "backup")
    assert house.app.restore.status()["state"] == "open"
    flow = sending(house)

    async def asked_again() -> None:
        made = (await house.app.submit(flow, Order(number="after"), request_id="after")).run_id
        async with house.working():
            await house.state(made, "parked", "waiting", "completed")

    asyncio.run(asked_again())
    assert len(crm.records()) == held, "what the restored ledger does not know was not sent again"


def _marker_put_back(house: House, backup: Path) -> None:
    """The state folder is lost too: all that is left of the marker is what the backup has."""
    installation = house.app.open().installation_id
    house.app.close()
    shutil.rmtree(house.folder / "state")
    (house.folder / "state").mkdir()
    shutil.copy(backup / "marker.json", house.folder / "state" / f"{installation}.json")
    shutil.copy(backup / "marker.heads", house.folder / "state" / f"{installation}.heads")


def _agree(folder: Path) -> None:
    """Write the manifest anew: whoever rewrites a record can do that too."""
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = [
        backups._described(folder, path)
        for path in backups._files(folder)
        if path.name != MANIFEST and not path.name.endswith(("-wal", "-shm"))
    ]
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _put_back(house: House, backup: Path) -> None:
    house.app.close()
    place = house.folder / "db" / "house.db"
    for part in place.parent.glob("house.db-*"):
        part.unlink()
    place.write_bytes((backup / "ledger.db").read_bytes())  # into the same file: nothing about its place tells of it
    house.app = house.new_app()
    house.app.open()
