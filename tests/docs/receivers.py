"""The pages about real receivers, written from the catalogue."""

import textwrap

from counterfoil.receivers.catalogue import Entry, entries
from counterfoil.receivers.catalogue.shown import listed, shown


def catalogue_rows() -> list[list[str]]:
    """Entry, action, kind, key, window, lookup, and what is done when a reply is lost."""
    rows: list[list[str]] = []
    for entry in entries():
        said = listed(entry)
        place = f"`{said['key']}`" if said["key"] else "-"
        name = f"[`{said['id']}`]({said['id']}.md)"
        rows.append(
            [name, f"`{said['name']}`", said["kind"], place, said["window"], said["lookup"] or "-", said["first"]]
        )
    return rows


def receiver_pages() -> dict[str, str]:
    """Each entry's page, by its name."""
    return {f"{entry.id}.md": page(entry) for entry in entries()}


def page(entry: Entry) -> str:
    """What is quoted stands in blocks: those are the words of others."""
    said = shown(entry)
    lines = [
        f"# `{entry.id}`",
        "",
        f"Kind {entry.kind}: {said['means']}. Claims are {entry.confidence}. [All receivers](README.md).",
        "",
    ]
    lines += ["| when | what is done |", "|---|---|"]
    lines += [f"| {stage['moment']} | {stage['ruling']} |" for stage in said["plan"]]
    if said["gaps"]:
        lines += ["", f"Before a start your account must say more: {'; '.join(said['gaps'])}."]
    lines += ["", "## In sentences", "", *quoted([f"{entry.name}, version {said['api_version']}", *said["sentences"]])]
    unknown = ", ".join(f"`{name}`" for name in said["unknown_fields"])
    lines += ["", "## Unknown", "", f"{unknown}."]
    words = [f"{name}: {value}" for name, value in said["facts"].items()]
    lines += [
        "",
        "## In the words of its texts",
        "",
        *quoted([*words, *(f"not verified: {it}" for it in said["not_verified"])]),
    ]
    return "\n".join([*lines, ""])


def quoted(said: list[str]) -> list[str]:
    """A block of wrapped lines."""
    wrapped = [textwrap.fill(each, 110, initial_indent="- ", subsequent_indent="  ") for each in said]
    return ["```", *wrapped, "```"]
