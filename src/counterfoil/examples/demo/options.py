"""What the demo can be asked for."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from counterfoil.app.located import located
from counterfoil.engine.boundaries import crash_point
from counterfoil.model.errors import Refused

STORIES = ("onboarding", "refund", "support")
KINDS = ("key", "lookup", "none")
FAULTS = ("drop-reply", "error-after-accept", "hang", "refuse", "slow")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `counterfoil demo`. `crash_at`: None is the story's own boundary, "none" is no crash.

    The command line brings an object of its own with these attributes: it stands below this package.
    """

    name: str = "onboarding"
    receiver: str | None = None
    receiver_url: str | None = None
    crash_at: str | None = None
    fault: str | None = None
    input: str | None = None
    engine: str = "embedded"
    keep: str | None = None
    console: Console | None = None
    serve: int | None = None  # afterwards the console at this port
    db: str | None = None  # an empty schema of a server; None: a file in the demo's folder

    @staticmethod
    def of(given: object) -> "DemoOptions":
        """The same options, checked. Raises Refused(usage | unknown_boundary)."""
        options = DemoOptions(**{name: getattr(given, name) for name in DemoOptions.__slots__})
        options.check()
        return options

    @property
    def one_story(self) -> bool:
        """Whether only the first story is told (cli.md)."""
        return any(given is not None for given in (self.receiver, self.receiver_url, self.crash_at, self.fault))

    def check(self) -> None:
        """Raises Refused(usage | unknown_boundary)."""
        _among("story", self.name, STORIES)
        _among("--receiver", self.receiver, KINDS)
        _among("--fault", self.fault, FAULTS)
        _among("--engine", self.engine, ("embedded", "temporal"))
        if self.engine == "temporal" and (self.name != "onboarding" or self.serve is not None):
            raise Refused("usage", problem="on Temporal the stories of the onboarding are told, without --console")
        if self.db is not None and located(self.db).backend == "sqlite":
            raise Refused(
                "usage", problem="the demo keeps its file in its own folder (--keep); --db takes postgresql://"
            )
        if self.serve is not None and (self.name != "onboarding" or self.one_story):
            raise Refused("usage", problem="--console shows the three stories of the onboarding")
        if self.name == "refund" and (self.one_story or self.input is not None):
            raise Refused(
                "usage", problem="the stories of the refund choose receiver, crash, fault and input themselves"
            )
        if self.name == "support" and any((self.receiver, self.receiver_url, self.fault, self.input)):
            raise Refused(
                "usage", problem="the story of the support desk takes --crash-at, and no receiver, fault or input"
            )
        if self.input is not None and not Path(self.input).is_dir():
            raise Refused("usage", problem=f"--input {self.input!r} is not a folder")
        if self.receiver_url is not None and not self.receiver_url.startswith(("http://", "https://")):
            raise Refused("usage", problem=f"--receiver-url {self.receiver_url!r} is not an http address")
        try:
            crash_point(self.crash_at)
        except ValueError as problem:
            raise Refused("unknown_boundary", name=self.crash_at) from problem


def _among(what: str, given: str | None, known: tuple[str, ...]) -> None:
    if given is not None and given not in known:
        raise Refused("usage", problem=f"{what} {given!r} is none of {', '.join(known)}")
