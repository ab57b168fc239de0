"""Answers through signed links: once for each person, also from two at once, and under every other rule of answers."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.app.signing import new_key
from counterfoil.engine.definitions import Env
from counterfoil.model.errors import Refused
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import asked, reject, revising, submit
from tests.engine.approvals import ORDER, of_two, opened, sent
from tests.engine.house import SECRET, House
from tests.engine.listening import listening
from tests.engine.writes import create_case, writing

DAY = timedelta(days=1)


def token(house: House, review: ReviewRecord, for_: str = "ana", lifetime: timedelta = DAY) -> str:
    return house.app.reviews.link(review.review_id, for_=for_, lifetime=lifetime)["path"].removeprefix("/answer/")


def answering(house: House, review: ReviewRecord, link: str, by: str = "ana", **how: Any) -> Coroutine[Any, Any, Any]:
    digest = how.pop("digest", review.digest)
    return house.app.reviews.approve(review.review_id, digest=digest, by=by, secret=SECRET, link=link, **how)


async def refused(answer: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(Refused) as problem:
        await answer
    return problem.value.code


def answers(house: House, run_id: str) -> list[AnswerRecord]:
    with house.app.open().read() as reader:
        return reader.find(AnswerRecord, "run_id", run_id)


def links_in_entries(house: House, run_id: str) -> list[str | None]:
    return [data.get("link") for kind, _, data in house.entries(run_id) if kind == "answer"]


def test_two_at_once_use_a_link_once(house_with_crm: House, crm: SandboxProcess) -> None:
    """Of two who must approve: the review stays open, so nothing but the link refuses the second."""
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        link = house.app.reviews.link(review.review_id, for_="manager", lifetime=DAY)
        path = link["path"].removeprefix("/answer/")
        both = await asyncio.gather(*(answering(house, review, path) for _ in range(2)), return_exceptions=True)
        (problem,) = [each for each in both if isinstance(each, Refused)]
        assert problem.code == "link_used"
        assert [answer.person for answer in answers(house, run_id)] == ["ana"]
        assert links_in_entries(house, run_id) == [link["link_id"]]
        await answering(house, review, path, by="oscar")
        assert links_in_entries(house, run_id) == [link["link_id"]] * 2
        await sent(house, run_id, crm)

    asyncio.run(story())


Trying = Callable[[House, ReviewRecord], Coroutine[Any, Any, Any]]


async def _late(house: House, review: ReviewRecord) -> Any:
    link = token(house, review, lifetime=timedelta(seconds=1))
    house.clock.advance(1)
    return await answering(house, review, link)


REFUSED: dict[str, Trying] = {
    "link_not_yours": lambda house, review: answering(house, review, token(house, review), by="oscar"),
    "link_stale": lambda house, review: answering(house, review, token(house, review), digest="sha256:" + "0" * 64),
    "link_expired": _late,
    "link_invalid": lambda house, review: answering(house, review, token(house, review)[:-1] + "!"),
    "role_missing": lambda house, review: answering(house, review, token(house, review, "root"), by="root"),
    "wrong_secret": lambda house, review: house.app.reviews.approve(
        review.review_id, digest=review.digest, by="ana", secret="no", link=token(house, review)
    ),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_refused_stores_nothing_and_uses_nothing(house_with_crm: House, crm: SandboxProcess, code: str) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        assert await refused(REFUSED[code](house, review)) == code
        assert answers(house, run_id) == []
        await answering(house, review, token(house, review))
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_who_proposed_does_not_approve_through_a_link(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        _, review = await opened(house, workflow, by="ana")
        assert await refused(answering(house, review, token(house, review))) == "own_proposal"

    asyncio.run(story())


def test_a_link_of_an_earlier_version_and_one_whose_key_was_revoked(
    house_with_crm: House, crm: SandboxProcess, tmp_path: Path
) -> None:
    house = house_with_crm
    workflow = revising(house, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            first = await asked(house, run_id)
            old = token(house, first)
            await reject(house, first, ask_revision=True)
            second = await asked(house, run_id, 2)
            assert await refused(answering(house, second, old, by="oscar")) == "link_not_yours"
            assert await refused(answering(house, second, old)) == "link_stale"
            with pytest.raises(Refused) as closed:
                token(house, first)
            assert closed.value.code == "link_closed"
        link = token(house, second)
        made = await house.app.keys.add(by="root", secret=SECRET, public_key=new_key(tmp_path / "new.key").public_key)
        keys = [key["key_id"] for key in house.app.keys.list()["items"]]
        await house.app.keys.revoke(next(k for k in keys if k != made["key_id"]), by="root", secret=SECRET)
        house.key_file.unlink()
        (tmp_path / "new.key").rename(house.key_file)
        assert await refused(answering(house, second, link)) == "link_invalid"
        assert (await answering(house, second, token(house, second, "oscar"), by="oscar"))["state"] == "approved"

    asyncio.run(story())


@pytest.mark.parametrize("signed", [True, False])
def test_without_the_key_no_link_is_made(house_with_crm: House, crm: SandboxProcess, signed: bool) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=signed)
        _, review = await opened(house, workflow)
        if signed:
            made = house.app.reviews.link(review.review_id, for_="ana", lifetime=timedelta(days=90))
            shown = house.app.reviews.show(review.review_id)
            assert made["expires_at"] == shown["expires_at"], "never beyond the review"
            assert made["link"] is None
            for for_, code in (("nobody", "unknown_owner"), ("lost", "unknown_owner")):
                with pytest.raises(Refused) as problem:
                    token(house, review, for_)
                assert problem.value.code == code
            house.key_file.unlink()
        with pytest.raises(Refused) as problem:
            token(house, review)
        assert problem.value.code == "link_unsigned"

    asyncio.run(story())


@pytest.mark.parametrize("signed", [True, False])
def test_notices_to_people_carry_a_signed_link_where_the_key_is(
    house_with_crm: House, crm: SandboxProcess, signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))
    house.app.notices.to("manager", Env("MANAGER_URL"))
    house.app.notices.to("*", Env("OVERSEERS_URL"))

    async def story() -> None:
        house.found(signed=True)
        run_id, review = await opened(house, workflow)
        kept = house.key_file.read_bytes()
        if not signed:
            house.key_file.unlink()
        await Rounds(house.app, tuple(duty for duty in DUTIES if duty.name == "notices")).once()
        (manager,), (overseers,) = told.bodies("/manager"), told.bodies("/overseers")
        plain = f"https://console.example/desk/reviews/{review.review_id}"
        assert plain in overseers["message"] and "/answer/" not in overseers["message"]
        if not signed:
            assert plain in manager["message"] and kept
            return
        _, _, link = manager["message"].partition("https://console.example/desk/answer/")
        assert (await answering(house, review, link.strip(), by="oscar"))["state"] == "approved"
        await sent(house, run_id, crm)

    with listening() as told:
        monkeypatch.setenv("MANAGER_URL", f"json://127.0.0.1:{told.port}/manager")
        monkeypatch.setenv("OVERSEERS_URL", f"json://127.0.0.1:{told.port}/overseers")
        monkeypatch.setenv("COUNTERFOIL_CONSOLE_URL", "https://console.example/desk/")
        asyncio.run(story())
