"""The files that these tests read: parsed once, and shared."""

import ast
import gc
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "counterfoil"


@dataclass(frozen=True)
class Source:
    """One Python file. `layer` is the first name below the package, or an empty string outside of it."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def layer(self) -> str:
        if not self.path.is_relative_to(PACKAGE):
            return ""
        return self.path.relative_to(PACKAGE).with_suffix("").parts[0]

    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    def at(self, node: ast.AST) -> str:
        return f"{self.name}:{getattr(node, 'lineno', 1)}"


def _python(*folders: str) -> tuple[Source, ...]:
    paths = sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts
    )
    gc.disable()  # trees hold no rubbish, and looking for some takes longer than parsing
    try:
        return tuple(Source(path, text := path.read_text(), ast.parse(text)) for path in paths)
    finally:
        gc.enable()


@cache
def shipped() -> tuple[Source, ...]:
    return _python("src")


@cache
def everything() -> tuple[Source, ...]:
    return _python("src", "tests", "scripts", "benchmarks")


@cache
def committed() -> tuple[Path, ...]:
    """Every file that is in the repository, or would be with the next `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = sorted({ROOT / name for name in listed.split("\0") if name})
    return tuple(path for path in paths if path.is_file())


def docstrings(source: Source) -> Iterator[tuple[ast.AST, str]]:
    for node in source.nodes():
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and (text := ast.get_docstring(node)):
            yield node, text


def imports(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every imported module by its full name, inside functions and under TYPE_CHECKING too.

    `from a.b import c` gives `a.b.c`, since c may be a module.
    """
    for node in source.nodes():
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}"


def report(what: str, found: list[str]) -> str:
    """A failing test's message: what is wrong, and every place of it."""
    return "\n".join([what, *(f"  {line}" for line in found)])
