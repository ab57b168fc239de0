"""Money and target: how a payload's fields say what a write is worth, and whom or what it changes."""

from dataclasses import dataclass

# ISO 4217: currencies whose minor unit is not a hundredth.
_DIGITS = {
    **dict.fromkeys(
        ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"),
        0,
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Money:
    """Marks the amount: `amount: Annotated[int, Money("EUR")]`, or `Money(currency="currency")`.

    `currency` is a code of three capital letters, or the payload field that holds one. An `int` counts minor units (cents),
    a `Decimal` whole ones. One field of a payload is marked.
    """

    currency: str


@dataclass(frozen=True, slots=True)
class Target:
    """Marks whom or what the write changes: `charge: Annotated[str, Target()]`. One field of a payload is marked."""


@dataclass(frozen=True, slots=True)
class Amount:
    """`minor` is in the currency's minor unit; `currency` a code of three capital letters."""

    minor: int
    currency: str


def is_currency(code: str) -> bool:
    """Three capital letters; which of them exist is not ours to know."""
    return len(code) == 3 and code.isascii() and code.isalpha() and code.isupper()


def digits_of(currency: str) -> int:
    """How many decimals the currency has: 2 where ISO 4217 says nothing else."""
    return _DIGITS.get(currency, 2)
