"""What may stand in no committed file."""

import re

from tests.architecture.source import ROOT, committed, report

# Written so that no pattern finds itself.
FORBIDDEN = {
    "names a package registry's host: hashes without hosts are enough": re.compile(
        r'"resolved": *"http|registry *= *"?http|index-url[ =]+http|pypi[.]org|pythonhosted[.]org|npmjs[.](org|com)',
        re.IGNORECASE,
    ),
    "carries a path of one machine": re.compile(r"(^|[^A-Za-z0-9_.])[/](work|farm|root|home)[/]"),
    "turns assertions off: they guard what is sent": re.compile(
        r"\bpython[0-9.]*\s+(-[A-Za-z]+\s+)*-O\b|PYTHON(?:OPTIMIZE)"
    ),
}
LOCKS_WITH_HOSTS = {"uv.lock", "poetry.lock", "pylock.toml", "Pipfile.lock"}


def test_no_file_says_what_no_file_may_say() -> None:
    found: list[str] = []
    for path in committed():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
            found += [
                f"{path.relative_to(ROOT)}:{number} {why}" for why, pattern in FORBIDDEN.items() if pattern.search(line)
            ]
    assert not found, report("In committed files:", found)


def test_no_lock_file_with_hosts() -> None:
    assert [str(path.relative_to(ROOT)) for path in committed() if path.name in LOCKS_WITH_HOSTS] == []


def test_the_repository_test_can_fail() -> None:
    lines = ['  "resolved": ' + '"http' + '://x"', "cd " + "/root" + "/x", "python3 -u " + "-O run.py"]
    assert [[pattern.search(line) is not None for pattern in FORBIDDEN.values()] for line in lines] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
