"""`counterfoil schema`: every command, option and field of this release, from the tree of commands itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from counterfoil.cli.command import DECLARED, EVERYWHERE, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.shapes import EXITS, PARKED, SHAPES
from counterfoil.cli.tables import heading, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

ALWAYS = (0, 2, 70)
SCHEMA = (
    "{commands:[{command, schema, about, usage, options:[{option, value, required, repeatable, about}], data}], "
    "everywhere:[{option, value, required, repeatable, about}], shapes:{name:fields}, exits:{status:meaning}, parked:{reason:command}}"
)


def described(console: "Console", data: Any) -> None:
    """Commands with their options, then the shapes."""
    rows = [(each["usage"], each["about"]) for each in data["commands"]]
    table(console, ("command", "what it does"), rows, empty="")
    heading(console, "shapes")
    for name, fields in data["shapes"].items():
        sentence(console, f"{name}  {fields}")


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("schema", data=SCHEMA, shows=described)
    def schema(invocation: Invocation) -> Any:
        """Print every command, option, field and exit status of this release."""
        from counterfoil.cli.tree import command

        del invocation
        return schema_of(command())


def schema_of(top: Any) -> dict[str, Any]:
    """The schema as plain JSON."""
    commands = [_command(words, command) for words, command in commands_of(top)]
    one = dict(commands_of(top))["schema"]
    everywhere = [_option(each) for each in one.params if each.name in EVERYWHERE]
    exits = {str(status): meaning for status, meaning in EXITS.items()}
    return {"commands": commands, "everywhere": everywhere, "shapes": SHAPES, "exits": exits, "parked": PARKED}


def commands_of(top: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its words, in the order of the tree."""
    for name, command in top.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


def _command(words: str, command: Any) -> dict[str, Any]:
    declared = DECLARED[words]
    own = [each for each in command.params if each.name not in EVERYWHERE and each.name != "help"]
    arguments = [each for each in own if each.param_type_name == "argument"]
    options = [_option(each) for each in own if each.param_type_name == "option"]
    return {
        "command": words,
        "schema": f"{words}/1",
        "about": declared.about,
        "usage": " ".join(
            ["counterfoil", words, *(_argument(each) for each in arguments), *(_used(each) for each in options)]
        ),
        "options": options,
        "data": declared.data,
    }


def _argument(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _option(option: Any) -> dict[str, Any]:
    return {
        "option": option.opts[0],
        "value": None if option.is_flag else option.metavar or _kind(option),
        "required": bool(option.required),
        "repeatable": bool(option.multiple),
        "about": option.help or "",
    }


def _kind(option: Any) -> str:
    return "N" if option.min is not None else str(option.opts[0]).removeprefix("--").upper()


def _used(option: dict[str, Any]) -> str:
    text = option["option"] if option["value"] is None else f"{option['option']} {option['value']}"
    text += " ..." if option["repeatable"] else ""
    return text if option["required"] else f"[{text}]"
