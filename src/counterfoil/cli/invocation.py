"""One command being carried out: what it was told, and the application it works on."""

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from counterfoil.cli.envelope import warning
from counterfoil.cli.streams import Streams
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.app.located import InFile, OnServer

CONFIGURATION = "counterfoil.toml"


@dataclass(slots=True)
class Invocation:
    """`words` is the command's name. What it opens is closed when it leaves the block."""

    words: str
    streams: Streams
    db: str | None
    target: str | None
    warnings: list[dict[str, str]] = field(default_factory=lambda: [])
    _app: "App | None" = None

    def __enter__(self) -> Self:
        self.streams.database = self.db
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._app is not None:
            self._app.close()

    def warn(self, code: str, message: str) -> None:
        """Say something beside the answer."""
        self.warnings.append(warning(code, message))

    # ------------------------------------------------------------------ the application

    def with_code(self) -> "App":
        """The application with what the user registered. Raises Refused(app_not_found)."""
        from counterfoil.cli.targets import loaded_from

        return self.use(loaded_from(Path.cwd(), self.named()))

    def app(self) -> "App":
        """The application; its code is loaded only where the place of the database may stand in it.

        A command that reads or answers needs no code, and must work when the code is broken.
        """
        from counterfoil.app import App

        named = self.named()
        if self.db is None and named is not None:
            try:
                return self.with_code()
            except Refused as refused:
                if refused.code != "app_not_found" or self.target is not None:
                    raise
                self.warn(refused.code, f"{refused.message} Going on without it.")
        return self.use(App("counterfoil"))

    def use(self, app: "App") -> "App":
        """Work on this application from here on, with the database that was named. What was used before is closed."""
        _check_settings()
        if self._app is not None and self._app is not app:
            self._app.close()
        if self.db is not None:
            app.db = self.db
        self.streams.database = app.db
        self._app = app
        self.located()
        return app

    def named(self) -> str | None:
        """`--app`, else COUNTERFOIL_APP, else `app` in ./counterfoil.toml, else None."""
        from counterfoil import settings

        return self.target or settings.value_of("COUNTERFOIL_APP") or configured(Path())

    def located(self) -> "InFile | OnServer":
        """Where the database in use is, opened by nobody. Raises Refused(usage)."""
        from counterfoil.app.located import located

        return located(self._app.db if self._app is not None else self.db)


def configured(folder: Path) -> str | None:
    """`app` in a folder's counterfoil.toml; None without one. Raises Refused(usage) for a file that cannot be read."""
    import tomllib

    file = folder / CONFIGURATION
    try:
        stored: dict[str, Any] = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise Refused("usage", problem=f"{file} cannot be read: {problem}") from problem
    found = stored.get("app")
    if found is not None and not isinstance(found, str):
        raise Refused("usage", problem=f"`app` in {file} is not a text")
    return found


_NUMBERS = ("COUNTERFOIL_LEASE_SECONDS", "COUNTERFOIL_PENDING_SECONDS", "COUNTERFOIL_RUNNING_SECONDS")


def _check_settings() -> None:
    """A setting that is no number is a user's mistake, and is named before anything is opened."""
    from counterfoil import settings

    for name in (*_NUMBERS, "COUNTERFOIL_CONCURRENCY"):
        text = settings.value_of(name)
        try:
            good = 0 < (int(text) if name == "COUNTERFOIL_CONCURRENCY" else float(text)) < 1e9
        except ValueError:
            good = False
        if not good:
            raise Refused("usage", problem=f"{name} is {text!r}, not a number above zero")
