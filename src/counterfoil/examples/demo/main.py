"""`counterfoil demo`: set the stage, tell the stories, show what is on record at the end."""

import asyncio
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from counterfoil import settings
from counterfoil.app import App
from counterfoil.app.located import OnServer, located
from counterfoil.engine.clock import SystemClock
from counterfoil.examples.demo import onboarding, refund, shown, support, temporal
from counterfoil.examples.demo.ledger import Ledger
from counterfoil.examples.demo.model import ProviderModel
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.examples.demo.processes import Commands, Crash, WarmProcess
from counterfoil.examples.demo.story import Stage, Staged, Story
from counterfoil.examples.demo.telling import Telling
from counterfoil.examples.demo.temporal import TemporalServer
from counterfoil.model.errors import Refused
from counterfoil.testing.servers import stripe_mock

# What must not reach the demo's processes from the shell in which it is typed.
_OURS = ("COUNTERFOIL_DB", "COUNTERFOIL_APP", "COUNTERFOIL_SECRET", "COUNTERFOIL_CRASH_AT")
LOG = "demo.log"
NEEDED = ("pydantic_ai", "openai", "pypdf")
INSTALL = "pip install 'counterfoil[demo]'"
APPS = {"onboarding": onboarding.APP, "refund": refund.APP, "support": support.APP}


def run_demo(given: object) -> dict[str, Any]:
    """Tell the stories; gives `data` of cli.md, and `as_expected`. `given` has the attributes of DemoOptions.

    The telling goes to `console`, by default on standard error. Raises Refused: usage, unknown_boundary, tool_missing.
    """
    options = DemoOptions.of(given)
    for package in (*NEEDED, *(support.NEEDED if options.name == "support" else ())):
        if find_spec(package) is None:
            raise Refused("tool_missing", tool=f"The Python package {package}", install=f"Install it: {INSTALL}")
    if options.name == "refund":
        stripe_mock.installed()  # said before anything is made
    if options.serve is not None:
        shown.installed()
    if options.engine == "temporal":
        temporal.installed()
    return asyncio.run(_alone(options))


async def _alone(options: DemoOptions) -> dict[str, Any]:
    folder = folder_for(options)
    async with WarmProcess(APPS[options.name], folder / LOG) as warm:
        return await told(options, folder, warm)


async def told(options: DemoOptions, folder: Path, warm: WarmProcess) -> dict[str, Any]:
    """As `run_demo`, in an empty folder, with a process that is warm already; several may be told at once."""
    environment = dict(settings.environment())
    provider = "OPENAI_API_KEY" in environment and "OPENAI_BASE_URL" not in environment
    telling = Telling(options.console or Console(stderr=True, highlight=False))
    telling.opening("your provider's" if provider else "a small local server", folder)
    where = located(options.db or str(folder / "counterfoil.db"))
    if where.taken():
        raise Refused("already_initialised", location=where.shown)
    paths = {"db": where.shown, "log": str(folder / LOG)}
    stories: list[dict[str, Any]] = []
    problems: list[str] = []
    with ExitStack() as stack:
        if options.name == "refund":
            environment["STRIPE_KEY"] = stripe_mock.KEY
            staged = refund.stories(stack.enter_context(stripe_mock.PaymentProvider()), folder)
        elif options.name == "support":
            staged = support.stories(options, folder)
        else:
            staged = onboarding.stories(options, folder)
        if options.engine == "temporal":
            environment |= stack.enter_context(TemporalServer(folder)).environment
        app = App("demo", db=options.db or paths["db"])
        stack.callback(app.close)
        kept = {name: value for name, value in environment.items() if name not in _OURS}
        commands = Commands(warm, folder, where, kept, Path(paths["log"]))
        _ = (await commands.run("init", str(folder), "--app", APPS[options.name])).data
        for each in staged:
            story = await _tell(each, commands, app, telling, provider=provider, engine=options.engine)
            stories.append(story)
            problems += each.plan.problems(story)
    telling.closing(stories, paths, problems)
    if options.serve is not None:
        found = {**kept, "COUNTERFOIL_DB": where.address.given} if isinstance(where, OnServer) else kept
        await shown.show(stories, folder, APPS[options.name], found, telling, options.serve)
    return {"stories": stories, "paths": paths, "as_expected": not problems}


async def _tell(
    staged: Staged, commands: Commands, app: App, telling: Telling, *, provider: bool, engine: str
) -> dict[str, Any]:
    """One story, with a receiver and a model server of its own."""
    model = ProviderModel if provider else staged.model
    with await asyncio.to_thread(staged.receiver) as receiver, await asyncio.to_thread(model) as asked:
        around = {**asked.environment, **staged.environment(receiver), "COUNTERFOIL_TEMPORAL_QUEUE": staged.plan.name}
        own = commands.of_story(around, Crash(staged.crash_at))
        return await Story(staged.plan, Stage(own, Ledger(app), asked, receiver, SystemClock(), telling, engine)).tell()


def folder_for(options: DemoOptions) -> Path:
    """The demo keeps its folder, so that the commands it prints can be typed afterwards. Raises Refused(usage)."""
    if options.keep is None:
        return Path(tempfile.mkdtemp(prefix="counterfoil-demo-"))
    folder = Path(options.keep).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refused("usage", problem=f"--keep {options.keep!r} cannot be made: {problem.strerror}") from problem
    if any(folder.iterdir()):
        raise Refused("usage", problem=f"--keep {options.keep!r} is not empty")
    return folder
