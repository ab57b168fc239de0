"""What import-linter's layers do not say: which outside package may be imported where."""

import sys
from collections.abc import Iterator

from tests.architecture.source import Source, imports, report, shipped

# A core dependency may be imported anywhere above `rules`; an extra only where its package is optional.
CORE = {"apsw", "cryptography", "httpx2", "pydantic", "pydantic_core", "rfc8785", "rich", "typer"}
EXTRAS = {
    "engine": {"keyring"},  # a credential's place, read when an attempt is made
    "agents": {"pydantic_ai", "genai_prices", "yaml"},
    "app": {"apprise", "authlib", "joserfc", "opentelemetry", "prometheus_client", "standardwebhooks"},
    "console": {
        "fastapi",
        "starlette",
        "uvicorn",
        "jinja2",
        "markupsafe",
        "authlib",
        "python_multipart",
        "sse_starlette",
    },
    "connectors": {"sqlalchemy"},  # its types alone: the engine is the user's
    "integrations": {"langchain", "langchain_core", "langgraph", "pydantic_ai", "temporalio"},
    "drills": {"pytest"},  # the plugin, which only a user's own pytest imports
    "receiving": {"fastapi", "sqlalchemy"},
    "store": {"psycopg"},
    "testing": {"aiosmtpd"},  # its mail server, a process of its own, which says so where the package is missing
    "examples": {"mcp", "pydantic_ai", "pypdf", "uvicorn"},
}

# model and rules decide from what they are given: the same input, the same answer, for ever.
PURE = {"model", "rules"}
IMPURE = {
    *("asyncio", "concurrent", "multiprocessing", "signal", "subprocess", "threading", "queue", "select", "selectors"),
    *("apsw", "dbm", "shelve", "sqlite3"),
    *("ftplib", "http", "httpx2", "smtplib", "socket", "socketserver", "ssl", "urllib"),
    *("random", "secrets", "time"),
    *("glob", "io", "os", "pathlib", "platform", "shutil", "tempfile"),
    *("rich", "typer"),
}


def outside(source: Source) -> Iterator[tuple[str, str]]:
    for node, module in imports(source):
        top = module.partition(".")[0]
        if top not in {"counterfoil", "__future__"}:
            yield source.at(node), top


def test_model_and_rules_are_pure() -> None:
    found = [
        f"{place} imports {top}"
        for source in shipped()
        if source.layer in PURE
        for place, top in outside(source)
        if top in IMPURE
    ]
    assert not found, report(
        "No clock, chance, network, thread, file or database: take the value as an argument.", found
    )


def test_only_declared_packages_are_imported() -> None:
    found = [
        f"{place} imports {top}"
        for source in shipped()
        for place, top in outside(source)
        if top not in sys.stdlib_module_names | CORE | EXTRAS.get(source.layer, set())
    ]
    assert not found, report(
        "Not a dependency of this layer (a test's package, an extra of another layer, or undeclared).", found
    )


def test_the_database_driver_stays_below() -> None:
    found = [
        f"{place} imports {top}"
        for source in shipped()
        if source.layer not in {"store", "testing"}
        for place, top in outside(source)
        if top in {"apsw", "sqlite3", "psycopg"}
    ]
    assert not found, report("Only store and testing speak to a database driver.", found)


def test_only_app_and_testing_name_a_database() -> None:
    found = [
        f"{source.at(node)} imports {module}"
        for source in shipped()
        if source.layer not in {"app", "store", "testing"}
        for node, module in imports(source)
        if module.startswith(("counterfoil.store.sqlite", "counterfoil.store.postgres"))
    ]
    assert not found, report("Take the store as an argument.", found)


def test_nothing_shipped_imports_through_the_facade() -> None:
    found = [
        f"{source.at(node)} imports {module}"
        for source in shipped()
        if source.layer not in {"examples", "__init__"}
        for node, module in imports(source)
        if module.startswith("counterfoil.") and module.count(".") == 1 and module.rpartition(".")[2][0].isupper()
    ]
    assert not found, report("Import a name from where it lives; the facade is for users and examples.", found)
