"""The shared text of queries, as PostgreSQL writes it. Everything that is only spelled otherwise stands in this one table."""

import re
from functools import lru_cache

_SPELLINGS = tuple(
    (re.compile(found), written)
    for found, written in (
        (r"%", "%%"),  # the driver's own mark
        (r"\(\s*SELECT value FROM json_each\((:\w+)\)\)", r"(SELECT jsonb_array_elements_text(CAST(\1 AS jsonb)))"),
        (r"json_each\((:\w+)\) AS (\w+)", r"jsonb_array_elements(CAST(\1 AS jsonb)) AS \2(value)"),
        (r" INDEXED BY \w+", ""),  # the planner takes no advice
        (r"\bchar\(31\)", "chr(31)"),
        (r"\binstr\(", "strpos("),
        (r"\?", "%s"),
    )
)
_PARAMETER = re.compile(r"(?<!:):(\w+)")


@lru_cache(maxsize=2048)
def spelled(statement: str, absent: frozenset[str] = frozenset()) -> str:
    """A statement with `:name` or `?`, for the driver. `absent` are the parameters that are NULL.

    A NULL is written into the text: as a parameter PostgreSQL would ask for its type where it is only compared with itself.
    """
    for found, written in _SPELLINGS:
        statement = found.sub(written, statement)
    return _PARAMETER.sub(lambda match: "NULL" if match[1] in absent else f"%({match[1]})s", statement)
