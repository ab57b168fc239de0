"""`counterfoil demo`: set the stage, tell the stories, show what is on record at the end."""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from counterfoil import settings
from counterfoil.app import App
from counterfoil.engine.clock import SystemClock
from counterfoil.examples.demo import onboarding, payments, refund
from counterfoil.examples.demo.ledger import Ledger
from counterfoil.examples.demo.model import LocalModel, ProviderModel
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.examples.demo.processes import Commands, Crash, WarmProcess
from counterfoil.examples.demo.story import Stage, Staged, Story
from counterfoil.examples.demo.telling import Telling
from counterfoil.model.errors import Refused

# What must not reach the demo's processes from the shell in which it is typed.
_OURS = ("COUNTERFOIL_DB", "COUNTERFOIL_APP", "COUNTERFOIL_SECRET", "COUNTERFOIL_CRASH_AT")


def run_demo(given: object) -> dict[str, Any]:
    """Tell the stories; gives `data` of cli.md, and `as_expected`. `given` has the attributes of DemoOptions.

    The telling goes to `console`, by default on standard error. Raises Refused: usage, unknown_boundary, tool_missing.
    """
    options = DemoOptions.of(given)
    return asyncio.run(_told(options, Telling(options.console or Console(stderr=True, highlight=False))))


async def _told(options: DemoOptions, telling: Telling) -> dict[str, Any]:
    environment = dict(settings.environment())
    provider = "OPENAI_API_KEY" in environment and "OPENAI_BASE_URL" not in environment
    folder = _folder(options)
    paths = {"db": str(folder / "counterfoil.db"), "log": str(folder / "demo.log")}
    stories: list[dict[str, Any]] = []
    problems: list[str] = []
    with ExitStack() as stack:
        if options.name == "refund":
            environment["STRIPE_KEY"] = payments.KEY
            staged, code = refund.stories(stack.enter_context(payments.PaymentProvider()), folder), refund.APP
        else:
            staged, code = onboarding.stories(options, folder), onboarding.APP
        app = App("demo", db=paths["db"])
        stack.callback(app.close)
        kept = {name: value for name, value in environment.items() if name not in _OURS}
        async with WarmProcess() as warm:
            commands = Commands(warm, folder, Path(paths["db"]), kept, Path(paths["log"]))
            telling.opening("your provider's" if provider else "a small local server", folder)
            await warm.start(code, folder, kept, commands.log)
            _ = (await commands.run("init", str(folder), "--app", code)).data
            for each in staged:
                told = await _tell(each, commands, app, telling, ProviderModel if provider else LocalModel)
                stories.append(told)
                problems += each.plan.problems(told)
    telling.closing(stories, paths, problems)
    return {"stories": stories, "paths": paths, "as_expected": not problems}


async def _tell(
    staged: Staged, commands: Commands, app: App, telling: Telling, model: Callable[[], LocalModel]
) -> dict[str, Any]:
    """One story, with a receiver and a model server of its own."""
    with await asyncio.to_thread(staged.receiver) as receiver, await asyncio.to_thread(model) as asked:
        own = commands.of_story({**asked.environment, staged.url_name: receiver.url}, Crash(staged.crash_at))
        return await Story(staged.plan, Stage(own, Ledger(app), asked, receiver, SystemClock(), telling)).tell()


def _folder(options: DemoOptions) -> Path:
    """The demo keeps its folder, so that the commands it prints can be typed afterwards."""
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
