"""The suites. Each is a function from a `Plan` to what it found."""

from collections.abc import Callable

from benchmarks.figures import Suite
from benchmarks.plan import Plan
from benchmarks.suites.agent import agent
from benchmarks.suites.growth import growth
from benchmarks.suites.inbox import inbox
from benchmarks.suites.operation import operation
from benchmarks.suites.resume import resume
from benchmarks.suites.steps import steps
from benchmarks.suites.waiting import waiting
from benchmarks.suites.wakeup import wakeup

SUITES: dict[str, Callable[[Plan], Suite]] = {
    "steps": steps,
    "operation": operation,
    "wakeup": wakeup,
    "resume": resume,
    "waiting": waiting,
    "growth": growth,
    "inbox": inbox,
    "agent": agent,
}
