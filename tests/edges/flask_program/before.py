"""A Flask program that sends invoices by mail: as it was."""

import os

import httpx2
from flask import Flask
from pydantic import BaseModel

site = Flask(__name__)


class Invoice(BaseModel):
    number: str
    lines: list[str] = []


def send_invoice(invoice: Invoice) -> str:
    reply = httpx2.post(os.environ["MAIL_URL"] + "/send", json=invoice.model_dump())
    return reply.raise_for_status().json()["id"]


@site.post("/invoices/<number>")
def invoice(number: str):
    return {"receipt": send_invoice(Invoice(number=number))}
