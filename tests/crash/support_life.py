"""What a worker of the support desk does in the crash tests, and says."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from counterfoil import App
from counterfoil.testing.bench_child import drive, place


def hits(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive the run, and say how often each boundary was met."""
    place(app, arguments, say)
    met: Counter[str] = Counter()
    app.boundaries.observers.append(lambda when, names: met.update(names if when == "after" else ()))
    asyncio.run(drive(app, arguments["run_id"]))
    say(dict(met))
    app.close()
