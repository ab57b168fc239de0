"""The one place that reads the environment. Each setting has a name, a default and an origin."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_DATABASE = "counterfoil.db"


@dataclass(frozen=True, slots=True)
class Setting:
    """`origin` is default, environment, file or argument."""

    name: str
    value: str
    origin: str
    about: str


_KNOWN = {
    "COUNTERFOIL_DB": (
        DEFAULT_DATABASE,
        "the database: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE[?schema=NAME]",
    ),
    "COUNTERFOIL_STATE": ("", "the folder of the outside marker; by default the user's state folder"),
    "COUNTERFOIL_FILES": (
        "",
        "with PostgreSQL, the folder of artifacts, which workers of several hosts share; by default the state folder",
    ),
    "COUNTERFOIL_APP": ("", "the application, MODULE:NAME"),
    "COUNTERFOIL_SECRET": ("", "a person's secret, for commands without a terminal"),
    "COUNTERFOIL_APPROVAL_KEY": (
        "",
        "the file of the private key that approvals are signed with; by default .counterfoil/approval.key beside the database",
    ),
    "COUNTERFOIL_DEBUG": ("", "show the traceback of a defect on stderr"),
    "COUNTERFOIL_CRASH_AT": ("", "kill this process at a boundary: NAME, before:NAME, NAME#2 (drills)"),
    "COUNTERFOIL_DRILL_GATE": (
        "live",
        "where an operation without a review needs a passing drill or a waiver: at live receivers, or with `all` at test receivers too",
    ),
    "COUNTERFOIL_LEASE_SECONDS": ("30", "how long a silent worker keeps its runs"),
    "COUNTERFOIL_PENDING_SECONDS": ("900", "how long a run may wait for a worker before it is parked as no_worker"),
    "COUNTERFOIL_RUNNING_SECONDS": (
        "1800",
        "how long a run may work without an entry before it is parked as no_progress",
    ),
    "COUNTERFOIL_ENGINE": ("embedded", "who executes workflows: embedded or temporal, for `worker` and `submit`"),
    "COUNTERFOIL_TEMPORAL_ADDRESS": ("127.0.0.1:7233", "the cluster of Temporal, HOST:PORT"),
    "COUNTERFOIL_TEMPORAL_NAMESPACE": ("default", "the namespace there"),
    "COUNTERFOIL_TEMPORAL_QUEUE": ("counterfoil", "the queue that workers of Temporal poll, and requests are put on"),
    "COUNTERFOIL_TEMPORAL_UI": ("", "the address of Temporal's web pages, for the links from a run"),
    "COUNTERFOIL_OIDC_ISSUER": ("", "the OpenID Connect provider that people sign in with, as it names itself"),
    "COUNTERFOIL_OIDC_CLIENT_ID": ("", "the name under which the provider knows this console"),
    "COUNTERFOIL_OIDC_CLIENT_SECRET": ("", "the console's secret at the provider"),
    "COUNTERFOIL_OIDC_CLAIM": ("preferred_username", "the claim that names the person at the first sign-in"),
    "COUNTERFOIL_CONCURRENCY": ("256", "how many runs one worker drives at once"),
    "COUNTERFOIL_SWEEP_PER_MINUTE": ("20", "how many closed operations a sweep counts at one receiver in a minute"),
    "COUNTERFOIL_METRICS": ("loopback", "who reads /metrics without a token: loopback, or with `token` nobody"),
    "COUNTERFOIL_TRUSTED_PROXIES": (
        "",
        "addresses whose X-Forwarded-For and X-Forwarded-Proto headers `serve` believes",
    ),
    "COUNTERFOIL_CONSOLE_URL": ("", "the console's address as people reach it, for the links in notices"),
    "COUNTERFOIL_OTEL": (
        "",
        "the OpenTelemetry collector's address (OTLP over HTTP); by default OTEL_EXPORTER_OTLP_ENDPOINT, and `off` tells nobody",
    ),
    "COUNTERFOIL_LOG": (
        "",
        "text or json: also log what happens, a line each on stderr; by default only what goes wrong",
    ),
}
_SECRET = frozenset({"COUNTERFOIL_SECRET", "COUNTERFOIL_OIDC_CLIENT_SECRET"})


def environment() -> Mapping[str, str]:
    """The process environment, read when asked: receivers name their variables themselves."""
    return os.environ


def value_of(name: str) -> str:
    """A known setting's value."""
    return os.environ.get(name) or _KNOWN[name][0]


def number_of(name: str) -> float:
    """A known setting that is a number above zero. Raises ValueError naming it."""
    text = value_of(name)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise ValueError(f"{name} is {text!r}, which is no number above zero")
    return value


def in_force(*, database: str | None = None) -> list[Setting]:
    """Every setting with its value and origin; secrets are shown as set or not."""
    found: list[Setting] = []
    for name, (default, about) in _KNOWN.items():
        given = os.environ.get(name)
        shown = given or default
        if name in _SECRET:
            shown = "set" if given else "not set"
        origin = "environment" if given else "default"
        if name == "COUNTERFOIL_DB" and database is not None:
            shown, origin = database, "argument"
        found.append(Setting(name, shown, origin, about))
    return found


def state_folder() -> Path:
    """Where the outside marker lies: best on another volume than the database."""
    given = value_of("COUNTERFOIL_STATE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "counterfoil"
