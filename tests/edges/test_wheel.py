"""What is published: built, installed in fresh environments, and used in empty folders with no repository around."""

import json
import signal
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.wheel_bench import REQUIREMENTS, ROOT, Installed, build, core_requirements, install, pip

pytestmark = pytest.mark.timeout(600)  # two environments are installed; nothing here waits for the clock

Document = dict[str, Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def core(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """`pip install counterfoil`: without any extra."""
    return install(tmp_path_factory.mktemp("core"), core_requirements(), built[1])


@pytest.fixture(scope="module")
def demo(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """`pip install 'counterfoil[demo]'`."""
    return install(tmp_path_factory.mktemp("demo"), REQUIREMENTS.read_text(), built[1])


def answered(installed: Installed, *argv: str, folder: Path, status: int = 0, **environ: str) -> Document:
    """The one document that a command answers with."""
    ended = installed.run("counterfoil", *argv, "--json", folder=folder, **environ)
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return json.loads(ended.stdout)


def shipped() -> set[str]:
    """What the package consists of in the repository."""
    package = ROOT / "src" / "counterfoil"
    found = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name}


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    _, wheel = built
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == shipped()
    assert {"counterfoil/py.typed", "counterfoil/store/sql/schema.sql"} <= inside
    documents = {Path(name).suffix for name in inside if name.startswith("counterfoil/examples/onboarding/folders/")}
    assert {".md", ".pdf", ".csv", ".eml"} <= documents
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_has_what_a_packager_needs(built: tuple[Path, Path]) -> None:
    sdist, _ = built
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in shipped()} <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names
    assert not any(name.startswith(("tests/", "docs/", "scripts/", ".build/")) for name in names)


def test_the_metadata_says_what_is_needed(built: tuple[Path, Path]) -> None:
    archive = zipfile.ZipFile(built[1])
    (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(archive.read(place).decode())
    assert (metadata["Name"], metadata["Requires-Python"], metadata["License-Expression"]) == (
        "counterfoil",
        ">=3.11",
        "Apache-2.0",
    )
    assert set(metadata.get_all("Provides-Extra") or ()) >= {"agents", "demo"}
    assert "Typing :: Typed" in (metadata.get_all("Classifier") or ())
    assert len(str(metadata.get_payload())) > 100, "the README is the page of the package"


def test_nothing_of_the_machine_that_built_it_is_inside(built: tuple[Path, Path]) -> None:
    archive = zipfile.ZipFile(built[1])
    found = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]
    assert found == []


def test_the_core_needs_no_extra(core: Installed, tmp_path: Path) -> None:
    assert "No broken requirements" in pip(core.place, "check")
    for package in ("pydantic_ai", "openai", "pypdf"):
        assert core.run("python", "-c", f"import {package}", folder=tmp_path).returncode == 1, package
    program = (
        "import counterfoil; [getattr(counterfoil, name) for name in counterfoil.__all__]; print(counterfoil.__file__)"
    )
    ended = core.run("python", "-W", "error", "-c", program, folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert Path(ended.stdout.strip()).is_relative_to(core.place), "the installed one, not the repository's"


@pytest.mark.parametrize("argv", [("--help",), ("submit", "--help"), ("operations", "resolve", "--help")])
def test_help(argv: tuple[str, ...], core: Installed, tmp_path: Path) -> None:
    ended = core.run("counterfoil", *argv, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Usage: counterfoil" in ended.stdout


def test_the_core_takes_an_operation_from_init_to_its_receipt(core: Installed, tmp_path: Path) -> None:
    """A person's first ten minutes: init, submit, review, worker, and the record that came of it."""
    place = answered(core, "init", "tour", folder=tmp_path)["data"]
    tour = Path(place["directory"])
    (tour / "order.json").write_text('{"number": "1", "item": "tea"}')
    with SandboxProcess("key") as shop:
        around = {"folder": tour, "SHOP_URL": shop.url}
        submit = ("submit", "buy", "--input", "order.json", "--request-id", "first")
        assert answered(core, *submit, **around)["data"]["admitted"] == "new"
        answered(core, "worker", "--until-idle", **around)
        (review,) = answered(core, "reviews", "list", **around)["data"]["items"]
        decide = ("reviews", "approve", review["review_id"], "--digest", review["digest"], "--by", "ana")
        assert answered(core, *decide, **around)["data"]["state"] == "approved"
        answered(core, "worker", "--until-idle", **around)
        again = answered(core, *submit, **around)["data"]
        assert (again["admitted"], again["state"]) == ("existing", "completed")
        assert len(shop.records()) == 1
        verified = answered(core, "verify", **around)["data"]
        assert (verified["broken"], verified["differences"]) == ([], [])


def test_the_core_says_how_to_get_the_demo(core: Installed, tmp_path: Path) -> None:
    error = answered(core, "demo", folder=tmp_path, status=6)["error"]
    assert error["code"] == "tool_missing"
    assert "counterfoil[demo]" in error["message"] + error["safe_next"]


@pytest.fixture(scope="module")
def told(demo: Installed, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Document], Path]:
    folder = tmp_path_factory.mktemp("empty")
    return answered(demo, "demo", folder=folder)["data"]["stories"], folder


def test_the_demo_tells_its_three_stories(told: tuple[list[Document], Path]) -> None:
    assert [story["outcome"] for story in told[0]] == ["succeeded", "unresolved", "unresolved"]


def test_the_first_story_is_killed_and_recovered_once(told: tuple[list[Document], Path]) -> None:
    story, *_ = told[0]
    assert story["receiver"]["records"] == 1
    assert story["crash"]["exit_signal"] == signal.SIGKILL
    assert story["crash"]["pid"] != story["recovery"]["pid"]
    assert story["model"]["requests"] == story["model"]["decisions"] + story["model"]["lost"]
    assert story["model"]["next_answer_digest"] != story["operation"]["payload_digest"]
    assert (story["run"]["state"], story["operation"]["status"]) == ("completed", "succeeded")
    assert story["resubmitted"]["admitted"] == "existing"


def test_the_second_story_stays_visibly_unresolved(told: tuple[list[Document], Path]) -> None:
    _, story, _ = told[0]
    run = story["run"]
    assert story["receiver"]["records"] == 1
    assert (run["state"], run["reason"]) == ("parked", "outcome_unknown")
    assert run["next_action"]["who"]["name"] == "onboarding-lead"
    assert run["next_action"]["deadline_at"]
    assert run["next_action"]["command"].startswith("counterfoil operations resolve op-")


def test_the_third_story_spends_its_budget_and_writes_nothing(told: tuple[list[Document], Path]) -> None:
    *_, story = told[0]
    assert (story["run"]["state"], story["run"]["reason"]) == ("parked", "budget_attempts")
    assert (story["operation"], story["crash"], story["receiver"]["records"]) == (None, None, 0)


def test_the_demo_is_told_in_a_terminal_too(demo: Installed, tmp_path: Path) -> None:
    """One story, chosen by its receiver, for a person and not for a program."""
    ended = demo.run("counterfoil", "demo", "--receiver", "lookup", folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "\x1b[" not in ended.stdout, "no colours into a file"
    assert len(ended.stdout.splitlines()) > 10
