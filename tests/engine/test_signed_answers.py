"""Answers are signed by who takes them. A process that only writes the database gets nothing sent."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.app.signing import Signer, new_key, signer_in
from counterfoil.app.verification import verify
from counterfoil.engine.reviews import Answer
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.rules.signing import statement
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, reject, reviews_of, revising, submit
from tests.engine.forging import HOURS, Change, Forge
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case, writing

ORDER = Order(number="1", amount=7)


def answers_of(house: House, run_id: str) -> list[AnswerRecord]:
    with house.app.open().read() as reader:
        return reader.find(AnswerRecord, "run_id", run_id)


async def opened(house: House, workflow: Any) -> tuple[str, ReviewRecord]:
    """A run that waits for its review, with nobody at work."""
    async with house.working():
        run_id = await submit(house, workflow, ORDER, "r")
        return run_id, await asked(house, run_id)


def forged_in(house: House) -> list[str]:
    return [place["run_id"] for place in verify(house.app.open)["broken"] if place["problem"] == "forged"]


def signed_by(signer: Signer, house: House, review: ReviewRecord, person: str = "ana", **parts: Any) -> dict[str, Any]:
    """The columns of an answer, signed by this key over what `parts` say the review is."""
    about = replace(review, **parts)
    now = house.clock.now_us()
    text = statement(house.app.open().installation_id, about, person, "approve", comment="", ask_revision=False, at=now)
    return {"key_id": signer.key_id, "statement": text, "signature": signer.sign(text), "person": person}


async def reopened(house: House, run_id: str, crm: SandboxProcess) -> None:
    """A worker looks at it: nothing is sent, and the question is put anew."""
    async with house.working():
        again = await asked(house, run_id, 2)
    assert again.state.value == "open"
    assert crm.records() == []


def test_a_signed_approval_is_sent_and_verifies(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        (answer,) = answers_of(house, run_id)
        assert answer.key_id == signer_in(house.key_file).key_id
        shown = house.app.reviews.show(review.review_id)["answers"]
        assert (shown["needed"], [(each["person"], each["signed"]) for each in shown["given"]]) == (1, [("ana", True)])
        async with house.working():
            await house.state(run_id, "completed")
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_without_the_private_key_nobody_approves_and_anybody_rejects(
    house_with_crm: House, crm: SandboxProcess, tmp_path: Path
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        house.key_file.rename(tmp_path / "elsewhere")
        with pytest.raises(Refused) as refused:
            await approve(house, review)
        assert refused.value.code == "approval_unsigned"
        verb = Answer(run_id, review.review_id, review.operation_id, "ana", True, review.digest, "", False)
        with pytest.raises(Refused) as unsigned:
            house.ask(verb)
        assert unsigned.value.code == "approval_unsigned", "whoever queues the verb alone is refused, too"
        new_key(house.key_file)
        with pytest.raises(Refused) as unknown:
            await approve(house, review)
        assert unknown.value.code == "approval_key_unusable"
        house.key_file.unlink()
        await reject(house, review)
        async with house.working():
            assert (await house.state(run_id, "parked")).reason == "review_rejected"
        assert (crm.records(), answers_of(house, run_id)[-1].signature) == ([], None)
        house.clean()

    asyncio.run(story())


Forging = Callable[[House, ReviewRecord, Path], tuple[dict[str, Any], ApprovalKeyRecord | None]]


def _unsigned(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], None]:
    return {}, None


def _by_its_own_key(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], None]:
    return signed_by(new_key(folder / "own.key"), house, review), None


def _with_a_key_it_registers(
    house: House, review: ReviewRecord, folder: Path
) -> tuple[dict[str, Any], ApprovalKeyRecord]:
    own = new_key(folder / "own.key")
    return signed_by(own, house, review), ApprovalKeyRecord(own.key_id, own.public_key, "ana", 1, None)


def _vouched_by_nobody(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], ApprovalKeyRecord]:
    own, real = new_key(folder / "own.key"), signer_in(house.key_file)
    row = ApprovalKeyRecord(own.key_id, own.public_key, "ana", 1, None, real.key_id, own.sign("I vouch for myself"))
    return signed_by(own, house, review), row


def _signed_about(**parts: Any) -> Forging:
    def forge(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], None]:
        return signed_by(signer_in(house.key_file), house, review, **parts), None

    return forge


def _in_another_name(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], None]:
    return signed_by(signer_in(house.key_file), house, review, "oscar") | {"person": "ana"}, None


def _no_statement(house: House, review: ReviewRecord, folder: Path) -> tuple[dict[str, Any], None]:
    return signed_by(signer_in(house.key_file), house, review) | {"statement": "[]"}, None


FORGED: dict[str, Forging] = {
    "unsigned": _unsigned,
    "by its own key": _by_its_own_key,
    "with a key it registers": _with_a_key_it_registers,
    "a key that vouches for itself": _vouched_by_nobody,
    "signed for another review": _signed_about(review_id="rev_other"),
    "signed for another digest": _signed_about(digest="sha256:" + "0" * 64),
    "signed for another version": _signed_about(proposal_version=2),
    "signed for another scope": _signed_about(scope="{}"),
    "signed for another role": _signed_about(role="lead"),
    "signed in another name": _in_another_name,
    "nothing that was signed": _no_statement,
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_approval_is_never_sent(house_with_crm: House, crm: SandboxProcess, tmp_path: Path, how: str) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        answer, key = FORGED[how](house, review, tmp_path)
        house.ask(Forge(run_id, review.review_id, answer, key))
        await reopened(house, run_id, crm)
        assert forged_in(house) == [run_id], "and the record says so"

    asyncio.run(story())


def test_where_no_key_was_ever_registered_an_approval_needs_no_signature(
    house_with_crm: House, crm: SandboxProcess
) -> None:
    """The same rows as above: it is the signature that refuses them there."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow)
        house.ask(Forge(run_id, review.review_id, {}))
        async with house.working():
            await house.state(run_id, "completed")
        assert len(crm.records()) == 1

    asyncio.run(story())


def test_what_was_signed_bounds_the_approval(house_with_crm: House, crm: SandboxProcess) -> None:
    """An approval that is over is not made to last by writing a later time into its row."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        house.clock.advance(9 * 3600)
        (approved,) = reviews_of(house, run_id)
        house.ask(Change(run_id, replace(approved, expires_at=house.clock.now_us() + HOURS)))
        await reopened(house, run_id, crm)

    asyncio.run(story())


def test_fewer_approvals_than_were_signed_for_are_not_enough(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True, approvals=2))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        (open_still,) = reviews_of(house, run_id)
        assert open_still.state.value == "open"
        (answer,) = answers_of(house, run_id)
        house.ask(Change(run_id, replace(open_still, needed=1)))
        columns = {"key_id": answer.key_id, "statement": answer.statement, "signature": answer.signature}
        house.ask(Forge(run_id, review.review_id, columns))
        await reopened(house, run_id, crm)
        assert run_id in forged_in(house)

    asyncio.run(story())


def test_an_earlier_approval_does_not_cover_a_newer_version(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = revising(house, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        (genuine,) = answers_of(house, run_id)
        await house.app.reviews.withdraw(review.review_id, by="ana", secret=SECRET, ask_revision=True)
        async with house.working():
            second = await asked(house, run_id, 2)
        columns = {"key_id": genuine.key_id, "statement": genuine.statement, "signature": genuine.signature}
        house.ask(Forge(run_id, second.review_id, columns))
        async with house.working():
            await asked(house, run_id, 3)
        assert crm.records() == []

    asyncio.run(story())


def test_a_revoked_key_takes_its_approvals_with_it_and_the_next_one_goes_on(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        old = signer_in(house.key_file).key_id
        with pytest.raises(Refused) as last:
            await house.app.keys.revoke(old, by="root", secret=SECRET)
        assert last.value.code == "last_approval_key"
        with pytest.raises(Refused) as manager:
            await house.app.keys.add(by="ana", secret=SECRET, file=tmp_path / "next.key")
        assert manager.value.code == "not_permitted"
        added = await house.app.keys.add(by="root", secret=SECRET, file=tmp_path / "next.key")
        assert (added["counts"], added["signed_by"]) == (True, old)
        revoked = await house.app.keys.revoke(old, by="root", secret=SECRET, reason="rotated")
        assert (revoked["counts"], revoked["revoked_at"] is None) == (False, False)
        await reopened(house, run_id, crm)
        monkeypatch.setenv("COUNTERFOIL_APPROVAL_KEY", str(tmp_path / "next.key"))
        await approve(house, reviews_of(house, run_id)[-1])
        async with house.working():
            await house.state(run_id, "completed")
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_the_first_key_cannot_be_taken_away(house_with_crm: House, crm: SandboxProcess) -> None:
    """The installation's own id names it: without its row no unsigned approval counts either."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        with apsw.Connection(str(house.folder / "db" / "house.db")) as connection:
            connection.execute("DELETE FROM approval_keys")
        house.ask(Forge(run_id, review.review_id, {}))
        await reopened(house, run_id, crm)

    asyncio.run(story())


def test_an_installation_may_begin_to_sign_later(house_with_crm: House, crm: SandboxProcess, tmp_path: Path) -> None:
    """What was approved before, and not sent, is asked again: from the first key on every approval is signed."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        house.key_file.parent.mkdir()
        await house.app.keys.add(by="root", secret=SECRET, file=house.key_file)
        await reopened(house, run_id, crm)
        await approve(house, reviews_of(house, run_id)[-1])
        async with house.working():
            await house.state(run_id, "completed")
        house.clean()

    asyncio.run(story())
