"""`python -m counterfoil.testing.sandbox --kind KIND | --contract FILE [--fault F] [--port 0] [--records FILE] [--clock FILE]`."""

import argparse
from pathlib import Path

from counterfoil.testing.loopback.digest import parse_json
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.kinds import KINDS, contract_of_kind
from counterfoil.testing.sandbox.server import serve


def main() -> None:
    """Read the arguments and serve. Exit status 2, with one sentence, for arguments that do not fit."""
    parser = argparse.ArgumentParser(
        prog="python -m counterfoil.testing.sandbox", description="A receiver that keeps a contract."
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--kind", help=", ".join(KINDS))
    which.add_argument("--contract", type=Path, metavar="FILE", help="a JSON object with the fields of SandboxContract")
    parser.add_argument("--fault", metavar="F[:COUNT]")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--records", type=Path, metavar="FILE")
    parser.add_argument("--clock", type=Path, metavar="FILE", help="a clock that is shared with those who send")
    chosen = parser.parse_args()
    try:
        contract = (
            contract_of_kind(chosen.kind)
            if chosen.kind
            else SandboxContract.from_json(parse_json(chosen.contract.read_bytes()))
        )
        serve(contract, fault=chosen.fault, port=chosen.port, records=chosen.records, clock=chosen.clock)
    except (ValueError, OSError, OverflowError) as reason:
        parser.error(str(reason))


main()
