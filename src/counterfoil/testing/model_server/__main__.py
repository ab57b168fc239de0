"""`python -m counterfoil.testing.model_server [--script FILE] [--fault F[:COUNT]] [--port 0]`."""

import argparse
from pathlib import Path

from counterfoil.testing.model_server.server import serve


def main() -> None:
    """Read the arguments and serve. Exit status 2, with one sentence, for arguments that do not fit."""
    parser = argparse.ArgumentParser(
        prog="python -m counterfoil.testing.model_server", description="A model that never answers twice the same."
    )
    parser.add_argument("--script", type=Path, metavar="FILE", help="answers to give first, or rules for them")
    parser.add_argument("--fault", metavar="F[:COUNT]")
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    try:
        serve(script=chosen.script, fault=chosen.fault, port=chosen.port)
    except (ValueError, OSError, OverflowError) as reason:
        parser.error(str(reason))


main()
