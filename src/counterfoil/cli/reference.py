"""The reference pages, written from what the code says: `python -m counterfoil.cli.reference docs/reference`.

A test compares the pages with what these functions give.
"""

import sys
from pathlib import Path
from typing import Any

from counterfoil.cli.schema import schema_of
from counterfoil.cli.tree import command as tree
from counterfoil.model.error_codes import CODES

BEGIN, END = (
    "<!-- written by counterfoil.cli.reference: begin -->",
    "<!-- written by counterfoil.cli.reference: end -->",
)


def errors_page() -> str:
    """docs/reference/errors.md."""
    lines = [
        "# Errors",
        "",
        "Every error has a code that never changes, says what happened, and says what is safe to do next. With `--json` it is",
        '`{"ok":false,"schema":"error/1","error":{code, message, safe_next, command, details}}` on standard output. In Python it',
        "is a `CounterfoilError` with `code`, `message`, `safe_next` and `details`. `counterfoil errors` prints this list.",
        "",
        "| code | exit | message | what is safe to do next |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{e.code}` | {e.exit_status} | {_cell(e.message)} | {_cell(e.safe_next)} |" for e in CODES.values()]
    return "\n".join(lines) + "\n"


def commands_section() -> str:
    """The written part of docs/reference/cli.md: every command, option, shape and status of this release."""
    schema = schema_of(tree())
    lines = [BEGIN, "", "## Options of every command", ""]
    lines += [_option(each) for each in schema["everywhere"]]
    lines += ["", "## Commands", ""]
    for command in schema["commands"]:
        lines += _command(command)
    lines += ["## Shapes", "", "```"]
    lines += [f"{name}  {fields}" for name, fields in schema["shapes"].items()]
    lines += ["```", "", "## Exit statuses", "", "| status | meaning |", "|---|---|"]
    lines += [f"| {status} | {meaning} |" for status, meaning in schema["exits"].items()]
    lines += ["", "## From park reason to command", "", "| reason | command |", "|---|---|"]
    lines += [f"| `{reason}` | `{command}` |" for reason, command in schema["parked"].items()]
    return "\n".join([*lines, "", END])


def with_section(page: str) -> str:
    """A page with its written part replaced. Raises ValueError for a page without one."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return before + commands_section() + after


def _command(command: dict[str, Any]) -> list[str]:
    lines = [f"### `{command['usage']}`", "", command["about"], "", f"Data: `{command['data']}`", ""]
    if command["options"]:
        lines += [*(_option(each) for each in command["options"]), ""]
    return lines


def _option(option: dict[str, Any]) -> str:
    text = option["option"] if option["value"] is None else f"{option['option']} {option['value']}"
    notes = [word for word in ("required", "repeatable") if option[word]]
    return f"- `{text}`{' (' + ', '.join(notes) + ')' if notes else ''}: {option['about']}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(folder: Path) -> None:
    """Write both pages anew."""
    (folder / "errors.md").write_text(errors_page())
    page = folder / "cli.md"
    page.write_text(with_section(page.read_text()))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
