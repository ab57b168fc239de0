"""What only a person knows, asked for in a terminal; elsewhere its absence is a usage error."""

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterfoil.cli.invocation import Invocation
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app import App

SECRETS = ".counterfoil"
_LONGEST_SECRET = 4096


def asked(invocation: Invocation, value: str | None, option: str, question: str) -> str:
    """The option's value, or what the person answers. Raises Refused(usage) where nobody can be asked."""
    if value is not None and value.strip():
        return value
    if not invocation.streams.interactive:
        raise Refused("usage", problem=f"{option} is missing, and there is no terminal to ask for it")
    answer: str = typer.prompt(question, err=True)
    return _clean(answer, option)


def asked_evidence(invocation: Invocation, file: str | None, text: str | None = None) -> tuple[bytes, str]:
    """The bytes of `--evidence`, or of `--evidence-text`, and the name under which they are kept."""
    from counterfoil.cli.documents import read_bytes

    if text is not None and text.strip():
        if file is not None:
            raise Refused("usage", problem="give --evidence or --evidence-text, not both")
        return _clean(text, "--evidence-text").encode(), "text"
    path = asked(invocation, file, "--evidence", "File with the evidence")
    return read_bytes(path, what="the evidence"), Path(path).name if path != "-" else "standard input"


def secret_of(invocation: Invocation, name: str, file: Path | None) -> str:
    """The secret of somebody who decides: `--secret-file`, COUNTERFOIL_SECRET, the file that `init` made, or a prompt.

    Raises Refused(secret_missing) without a terminal, Refused(usage) for a file that holds none.
    """
    given = secret_at_hand(invocation, name, file)
    if given is not None:
        return given
    if not invocation.streams.interactive:
        raise Refused("secret_missing")
    answer: str = typer.prompt(f"Secret of {name}", hide_input=True, err=True)
    return _clean(answer, "the secret")


def secret_at_hand(invocation: Invocation, name: str, file: Path | None) -> str | None:
    """The same without a prompt; None where only the person knows it. Raises Refused(usage) for a file that holds none."""
    return _given(file) or _made_by_init(invocation, name)


def new_secret(invocation: Invocation, name: str, file: Path | None) -> str:
    """The secret of somebody who is added: `--secret-file`, COUNTERFOIL_SECRET, or a prompt, typed twice."""
    given = _given(file)
    if given is not None:
        return given
    if not invocation.streams.interactive:
        raise Refused("secret_missing")
    answer: str = typer.prompt(f"New secret of {name}", hide_input=True, confirmation_prompt=True, err=True)
    return _clean(answer, "the secret")


def with_one_person(invocation: Invocation, app: "App", answer: Any) -> Any:
    """The answer; where one person may decide alone, each resolution says so."""
    if app.open().installation().single_person:
        invocation.warn("single_person", "This installation is declared single_person: nobody else has looked at this.")
    return answer


def _given(file: Path | None) -> str | None:
    from counterfoil import settings

    if file is not None:
        return secret_in(file)
    return _clean(settings.value_of("COUNTERFOIL_SECRET"), "COUNTERFOIL_SECRET") or None


def _made_by_init(invocation: Invocation, name: str) -> str | None:
    """The secret file beside the database, where it is the person's own: nobody else may read it."""
    if Path(name).name != name:
        return None
    file = invocation.located().beside.absolute().parent / SECRETS / f"{name}.secret"
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(mode):
        return None
    if mode & 0o077:
        invocation.warn("secret_readable", f"{file} can be read by others; it is not used. Make it mode 0600.")
        return None
    return secret_in(file)


def secret_in(file: Path) -> str:
    """A file's one line. Raises Refused(usage)."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_LONGEST_SECRET + 1)
    except OSError as problem:
        raise Refused("usage", problem=f"the secret file {file} cannot be read: {problem.strerror}") from problem
    try:
        secret = content.decode().rstrip("\r\n")
    except UnicodeDecodeError as problem:
        raise Refused("usage", problem=f"the secret file {file} is not UTF-8") from problem
    if not secret or len(content) > _LONGEST_SECRET:
        raise Refused("usage", problem=f"the secret file {file} is empty or too long")
    return secret


def _clean(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise Refused("usage", problem=f"{what} is not UTF-8") from problem
    return text
