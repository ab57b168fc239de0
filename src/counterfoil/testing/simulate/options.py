"""What one schedule is made of, drawn from its seed: which disturbances are on, how often, and how many take part."""

from collections.abc import Set
from dataclasses import dataclass, field, replace
from random import Random

SWITCHES: dict[str, tuple[float, ...]] = {
    # At the network, per request.
    "unreachable": (0.03, 0.3),
    "lost": (0.03, 0.2),
    "late": (0.05, 0.3),
    "slow": (0.05, 0.3),
    "busy": (0.05, 0.2),
    "refuse": (0.03, 0.2),
    "error-after-accept": (0.05, 0.3),
    "drop-reply": (0.05, 0.4),
    "hang": (0.05, 0.3),
    "doubled": (0.02, 0.1),
    "freeze-at-the-wire": (0.02, 0.1),
    # At a boundary, per passing.
    "kill-at-boundary": (0.005, 0.05),
    "freeze-at-boundary": (0.003, 0.02),
    "storage-fails": (0.003, 0.02),
    # In the world, by its weight.
    "kill": (1.0, 4.0),
    "freeze": (1.0, 4.0),
    "drain": (1.0, 2.0),
    "kill-office": (1.0,),
    "reboot": (0.5,),
    "slow-disk": (1.0,),
    "clock-back": (0.5,),
    "clock-forward": (0.5,),
    "restore": (0.5,),
    "deploy": (1.0, 2.0),
    "key-store-lost": (0.3,),
    "edited": (0.5,),
    # By people, by its weight.
    "suspend": (1.0,),
    "cancel": (1.0,),
    "revoke": (0.3,),
    "withdraw": (1.0,),
    "answer-twice": (1.0,),
    "answer-other-version": (1.0,),
    "answer-not-entitled": (1.0,),
    "answer-late": (0.1, 0.3),
    "reject": (0.1, 0.4),
    "look-up": (1.0, 6.0),
    "quiet": (0.5,),
    "hasty": (0.3, 0.8),
    "resubmit": (0.2, 0.6),
    "other-content": (0.2,),
    "signal": (0.1, 0.5),
    "same-number": (0.1, 0.4),
    # In the user's code, per call.
    "step-fails": (0.1, 0.4),
    "step-fails-for-good": (0.05, 0.2),
    "model-fails": (0.1, 0.4),
}
"""Every disturbance, and the chances or weights it may have. Each schedule has about half of them."""


@dataclass(frozen=True, slots=True)
class Options:
    """`rates`: the chance or weight of each disturbance that is on. Times in seconds."""

    workers: int
    runs: int
    acts: int
    calm_after: float
    operations: tuple[str, ...]
    duties: bool
    rates: dict[str, float] = field(default_factory=lambda: {})

    def chance_of(self, name: str) -> float:
        """0.0 where it is off."""
        return self.rates.get(name, 0.0)

    def without(self, off: Set[str]) -> "Options":
        """The same schedule with these switched off."""
        return replace(self, rates={name: rate for name, rate in self.rates.items() if name not in off})


def drawn(chance: Random, operations: tuple[str, ...]) -> Options:
    """The options of one schedule."""
    rates = {name: chance.choice(given) for name, given in SWITCHES.items()}
    likely = chance.choice((0.1, 0.3, 0.5, 0.8))
    on = {name: chance.random() < likely for name in rates}
    few = chance.sample(operations, k=chance.randint(1, min(4, len(operations))))
    return Options(
        workers=chance.choice((1, 1, 2, 2, 3, 4, 8)),
        runs=chance.choice((1, 2, 3, 4, 6)),
        acts=chance.choice((1, 2, 3, 4)),
        calm_after=chance.choice((30.0, 90.0, 240.0)),
        operations=tuple(few),
        duties=chance.random() < 0.5,
        rates={name: rate for name, rate in rates.items() if on[name]},
    )
