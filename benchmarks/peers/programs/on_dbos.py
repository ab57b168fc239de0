"""The refund as a DBOS workflow on SQLite: `python on_dbos.py FOLDER REQUEST CHARGE`."""

import json
import os
import sys
from pathlib import Path

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID


@DBOS.step(retries_allowed=True)
def read_charge(charge: str) -> int:
    return json.loads(Path(os.environ["CHARGES"]).read_text())[charge]


def choose(paid: int) -> int:
    return paid // 2


@DBOS.step(retries_allowed=True)
def send(request: str, charge: str, amount: int) -> str:
    body = {"request": request, "charge": charge, "amount": amount}
    reply = httpx.post(os.environ["RECEIVER"] + "/refunds", json=body, headers={"Idempotency-Key": request})
    reply.raise_for_status()
    return reply.json()["id"]


@DBOS.workflow()
def refund(request: str, charge: str) -> str:
    paid = read_charge(charge)
    return send(request, charge, choose(paid))


def main(folder: Path, request: str, charge: str) -> None:
    config: DBOSConfig = {
        "name": "refunds",
        "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}",
        "run_admin_server": False,
    }
    DBOS(config=config)
    DBOS.launch()
    with SetWorkflowID(request):
        handle = DBOS.start_workflow(refund, request, charge)
    handle.get_result()
    print(json.dumps({"state": "done"}))
    DBOS.destroy()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
