"""`deploy check` and `versions` as a build calls them: a copy of the database, the next code, one document, a status."""

import shutil
from pathlib import Path
from unittest import mock

from tests.edges.cli_bench import APP, installed

WAITS = 'return await run.wait_for("go", str, within=timedelta(hours=1))'


def test_a_build_stops_where_a_run_would_park(tmp_path: Path) -> None:
    made = installed(tmp_path)
    made.submit("waits", "1")
    made.drive()
    was = made.show()
    assert was["state"] == "waiting"
    copy = tmp_path / "copy"
    copy.mkdir()
    for part in made.folder.glob("counterfoil.db*"):
        if part.is_file():
            shutil.copy(part, copy / part.name)
    db = ("--db", str(copy / "counterfoil.db"))
    good = made.json("deploy", "check", *db)
    assert good.status == 0 and good.data["summary"]["goes_on"] == 1, good

    (made.folder / "app.py").write_text(APP.replace(WAITS, 'await run.sleep(SHORT)\n    return ""'))
    with mock.patch.dict("sys.modules"):
        __import__("sys").modules.pop("app", None)
        found = made.json("deploy", "check", *db)
        shown = made("deploy", "check", *db)
    assert found.status == shown.status == 1
    (item,) = found.data["items"]
    assert (item["verdict"], item["reason"], item["workflow"]) == ("parks", "code_changed", "waits")
    assert "wait_for go" in item["recorded"] and "sleep" in item["asked"]
    assert "run-1" in shown.out and "run.changed" in shown.out
    assert made.show()["records"] == was["records"]


def test_versions_are_listed_with_or_without_the_code(tmp_path: Path) -> None:
    made = installed(tmp_path)
    made.submit("waits", "1")
    made.drive()
    items = {i["workflow"]: i for i in made.json("versions").data["items"]}
    assert (items["waits"]["open_runs"], items["waits"]["needed"], items["waits"]["here"]) == (1, True, True)
    assert items["buy"]["needed"] is False
    assert "no worker" in items["waits"]["sentence"]
