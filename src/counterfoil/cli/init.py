"""`counterfoil init`: a folder with a database, two people who can decide everything, and a first application."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Group
from counterfoil.cli.invocation import CONFIGURATION, Invocation
from counterfoil.cli.prompts import SECRETS
from counterfoil.cli.tables import fields, sentence
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.app.located import Located
    from counterfoil.app.signing import Signer

PEOPLE = ("ana", "oscar")
OWN_APP, OWN_FILE = "app:app", "app.py"
SECRET_BITS = 128


def initialised(console: "Console", data: Any) -> None:
    """What was made, and what to type next."""
    sentence(console, f"{data['directory']} is initialised.")
    named = {"database": data["database"], "application": data["app"], "marker": data["marker"]}
    named["approval key"] = data["approval_key"]["file"]
    fields(console, named | {p["name"]: f"{', '.join(p['roles'])} ({p['secret_file']})" for p in data["people"]})
    sentence(console, f"next: cd {data['directory']} && counterfoil explain {data['explain']}")


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command(
        "init",
        data=(
            "{directory, database, app, app_file, people:[{name, roles, secret_file}], approval_key:{key_id, file}, single_person, "
            "marker, explain}"
        ),
        shows=initialised,
    )
    def init(
        invocation: Invocation,
        directory: Annotated[Path, typer.Argument(metavar="DIR", help="Made when it is not there.")],
        single_person: Annotated[
            bool,
            typer.Option("--single-person", help="One person may approve and resolve alone; each resolution says so."),
        ] = False,
        accept_no_marker: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Do without the outside marker, in this person's name: a restore is then not recognised.",
            ),
        ] = None,
    ) -> Any:
        """Make a database, two people with every role, their secrets, a key that approvals are signed with, and an application."""
        if accept_no_marker is not None and not accept_no_marker.strip():
            raise Refused("usage", problem="--accept-no-marker names a person")
        folder = directory.absolute()
        if not invocation.db and invocation.located().backend == "sqlite":
            invocation.db = str(folder / "counterfoil.db")
        where = invocation.located()
        _refuse_initialised(folder, where)
        _make(folder)
        named = invocation.target or _environment_app()
        app_file = None if named else _first_app(folder)
        app = _load(folder, named or OWN_APP)
        return _install(invocation, app, folder, where, named or OWN_APP, app_file, single_person, accept_no_marker)


def _refuse_initialised(folder: Path, where: "Located") -> None:
    if folder.exists() and not folder.is_dir():
        raise Refused("usage", problem=f"{folder} is not a folder")
    if (folder / CONFIGURATION).exists():
        raise Refused("already_initialised", location=str(folder / CONFIGURATION))
    if where.taken():
        raise Refused("already_initialised", location=where.shown)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        secrets = folder / SECRETS
        secrets.mkdir(mode=0o700, exist_ok=True)
        (secrets / ".gitignore").write_text("*\n")
    except OSError as problem:
        raise Refused("usage", problem=f"{folder} cannot be made: {problem.strerror}") from problem


def _environment_app() -> str | None:
    from counterfoil import settings

    return settings.value_of("COUNTERFOIL_APP") or None


def _first_app(folder: Path) -> Path | None:
    """Write the example; a file of the user's with that name is theirs and is taken as it is."""
    file = folder / OWN_FILE
    if file.exists():
        return None
    file.write_text(
        (Path(__file__).parents[1] / "examples" / "first_app.py").read_text()
    )  # read, not imported: it is above us
    return file


def _load(folder: Path, target: str) -> "App":
    """The application; MODULE is found in the new folder first."""
    from counterfoil.cli.targets import loaded_from

    return loaded_from(folder, target)


def _install(
    invocation: Invocation,
    app: "App",
    folder: Path,
    where: "Located",
    target: str,
    app_file: Path | None,
    single_person: bool,
    accepted_by: str | None,
) -> Any:
    from counterfoil import settings
    from counterfoil.app.opening import Founding
    from counterfoil.app.registration import named_in
    from counterfoil.app.secrets import hashed
    from counterfoil.engine.administration import NewPerson
    from counterfoil.engine.clock import Chance
    from counterfoil.rules.permissions import ADMIN

    chance, roles = Chance(), tuple(sorted({*named_in(app.registry), ADMIN}))
    secrets = {name: chance.hex(SECRET_BITS) for name in PEOPLE}
    # Before the database: a crash in between leaves secrets that the next `init` writes anew, never people without one.
    files = {name: _write_secret(folder, name, secret) for name, secret in secrets.items()}
    people = tuple(NewPerson(name, roles, hashed(secret, chance.hex(128))) for name, secret in secrets.items())
    key = _write_key(folder)
    invocation.use(app)
    try:
        app.open(
            Founding(
                single_person=single_person, marker_accepted=accepted_by is not None, people=people,
                approval_key=key.public_key,
            )
        )  # fmt: skip
    except BaseException:
        where.remove()
        raise
    _write_configuration(folder, target, accepted_by)
    workflows = sorted({name for name, _ in app.registry.workflows if name != "ledger"})
    return {
        "directory": str(folder), "database": where.shown, "app": target,
        "app_file": None if app_file is None else str(app_file),
        "people": [{"name": name, "roles": list(roles), "secret_file": str(files[name])} for name in PEOPLE],
        "approval_key": {"key_id": key.key_id, "file": str(_key_file(folder))},
        "single_person": single_person,
        "marker": None if accepted_by is not None else str(settings.state_folder()),
        "explain": workflows[0] if workflows else app.name,
    }  # fmt: skip


def _write_secret(folder: Path, name: str, secret: str) -> Path:
    file = folder / SECRETS / f"{name}.secret"
    file.unlink(missing_ok=True)
    # Made with its mode: a file that is narrowed afterwards can be read in between.
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(opened, "w") as stream:
        stream.write(secret + "\n")
    return file


def _key_file(folder: Path) -> Path:
    from counterfoil.app.signing import FILE

    return folder / SECRETS / FILE


def _write_key(folder: Path) -> "Signer":
    """The first approval key. Its private half belongs where answers are given; see docs/reviews.md."""
    from counterfoil.app.signing import new_key

    file = _key_file(folder)
    file.unlink(missing_ok=True)  # of an `init` that did not finish: the database it belonged to was removed
    return new_key(file)


def _write_configuration(folder: Path, target: str, accepted_by: str | None) -> None:
    lines = ["# Read by counterfoil in the folder where it is typed.", f"app = {_quoted(target)}"]
    if accepted_by is not None:
        lines.append(f"no_marker_accepted_by = {_quoted(accepted_by)}")
    (folder / CONFIGURATION).write_text("\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)  # a JSON text is a TOML basic string
