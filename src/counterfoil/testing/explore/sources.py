"""The digest of what was explored: the sources of every module that the rules and verbs come from."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[3]  # the folder that holds the package
_FROM = ("worker.py", "sending.py", "person.py", "world.py", "scene.py")
_EXPLORED = (
    "counterfoil.engine",
    "counterfoil.rules",
    "counterfoil.model",
    "counterfoil.store",
    "counterfoil.receivers",
)


@cache
def source_digest() -> str:
    """`sha256:<hex>` over the sources of the explored modules, each with its name."""
    digest = hashlib.sha256()
    for name in explored_modules():
        source = _file_of(name).read_bytes()
        digest.update(f"{name}\n{len(source)}\n".encode() + source)
    return f"sha256:{digest.hexdigest()}"


@cache
def explored_modules() -> tuple[str, ...]:
    """The modules of verbs and rules that the explorer calls, and all that they import of ours, by name."""
    waiting = [name for file in _FROM for name in _imported(Path(__file__).with_name(file))]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found and name.startswith(_EXPLORED):
            found.add(name)
            waiting += _imported(_file_of(name))
    return tuple(sorted(found))


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("counterfoil"):
            yield node.module
            for alias in node.names:  # `from counterfoil.model import ids` names a module
                if (_ROOT / f"{node.module}.{alias.name}".replace(".", "/")).with_suffix(".py").exists():
                    yield f"{node.module}.{alias.name}"


def _file_of(name: str) -> Path:
    path = _ROOT / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
