"""The world itself: order within a process, time that jumps, processes that die, freeze and thaw."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from counterfoil.testing.simulate.world import START_US, Died, Stuck, World

MINUTE_US = 60_000_000


def _played(world: World, seconds: float = 3600.0) -> None:
    world.run_until(lambda: False, START_US + round(seconds * 1_000_000))


def test_within_a_process_callbacks_keep_their_order_and_between_processes_the_seed_decides() -> None:
    def story(seed: int) -> list[str]:
        world, seen = World(seed), list[str]()
        for name in ("a", "b"):
            process = world.process(name)
            for n in range(6):
                process.loop.call_soon(seen.append, f"{name}{n}")
        _played(world)
        return seen

    orders = {tuple(story(seed)) for seed in range(8)}
    assert len(orders) > 3
    for order in orders:
        assert [each for each in order if each.startswith("a")] == [f"a{n}" for n in range(6)]
        assert [each for each in order if each.startswith("b")] == [f"b{n}" for n in range(6)]
    assert story(3) == story(3)


def test_nobody_waits_really_and_the_clock_jumps_to_the_next_timer() -> None:
    world, seen = World(1), list[float]()

    async def body() -> None:
        for _ in range(3):
            passed = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(600, passed.set_result, None)
            await passed
            seen.append(round(asyncio.get_running_loop().time() - START_US / 1_000_000))

    world.process("a").start(body())
    _played(world, 7200)
    assert seen == [600, 1200, 1800]


def test_a_time_limit_of_asyncio_passes_in_simulated_time() -> None:
    world, seen = World(1), list[str]()

    async def body() -> None:
        try:
            async with asyncio.timeout(30):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            seen.append("late")

    world.process("a").start(body())
    _played(world)
    assert seen == ["late"]


def test_nothing_of_a_dead_process_goes_on_not_even_its_finally() -> None:
    world, seen = World(1), list[str]()
    process = world.process("a")

    async def body() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            seen.append("finally")

    part = process.start(body())
    world.outside.loop.call_later(5, process.die)
    world.outside.loop.call_later(9, lambda: part.cancel())
    _played(world)
    assert seen == [] and not process.alive and process in world.graves
    with pytest.raises(Died):
        process.check()


def test_a_process_that_dies_in_its_own_turn_stops_there() -> None:
    world, seen = World(1), list[str]()
    process = world.process("a")

    async def body() -> None:
        seen.append("before")
        process.die()
        seen.append("after")

    process.start(body())
    process.loop.call_soon(seen.append, "next")
    _played(world)
    assert seen == ["before"] and process.problems == []


def test_a_frozen_process_stands_still_while_time_passes_and_its_timers_are_late() -> None:
    world, seen = World(1), list[float]()
    process = world.process("a")
    process.loop.call_later(10, lambda: seen.append(process.loop.time()))
    process.freeze(100)
    _played(world)
    assert [round(at - START_US / 1_000_000) for at in seen] == [100]


def test_a_look_is_left_out_until_there_is_a_reason_for_it() -> None:
    world, seen = World(1), list[float]()
    process = world.process("a")
    reasons = [START_US + MINUTE_US]
    process.reason_at = lambda: reasons[0]
    process.loop.look_at(START_US + 50_000, lambda: seen.append(process.loop.time()))
    _played(world)
    assert [round(at - START_US / 1_000_000) for at in seen] == [60]


def test_turning_in_circles_is_noticed() -> None:
    world = World(1)
    process = world.process("a")

    def again() -> None:
        process.loop.call_soon(again)

    process.loop.call_soon(again)
    with pytest.raises(Stuck):
        _played(world)


def test_what_a_process_raises_is_its_problem() -> None:
    world = World(1)
    process = world.process("a")

    async def body() -> None:
        raise ValueError("x")

    wrong: Coroutine[Any, Any, None] = body()
    process.start(wrong)
    process.loop.call_soon(lambda: 1 / 0)
    _played(world)
    assert sorted(type(each).__name__ for each in process.problems) == ["ValueError", "ZeroDivisionError"]


def test_threads_are_turns() -> None:
    world, seen = World(1), list[int]()

    async def body() -> None:
        seen.append(await asyncio.to_thread(lambda: 7))
        try:
            await asyncio.to_thread(lambda: 1 / 0)
        except ZeroDivisionError:
            seen.append(0)

    world.process("a").start(body())
    _played(world)
    assert seen == [7, 0]
