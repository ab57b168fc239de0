"""What is played when the onboarding case is drilled: `counterfoil drill counterfoil.examples.onboarding.app:onboard`."""

from counterfoil.drills.scenario import Scenario
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS

# Where it matters what the receiver offers to who must ask again. The rest is the same at every CRM.
ABOUT_THE_RECEIVER = (
    "kill-*", "drop-reply", "error-after-accept", "hang", "refuse", "freeze-*", "lookup-*", "key-*", "restored-file",
)  # fmt: skip


def _at_a_crm(kind: str, only: tuple[str, ...] | None = None) -> Scenario:
    def folder(customer: str) -> dict[str, str]:
        return {"customer": customer, "path": str(SAMPLE_FOLDERS / "acme"), "crm": kind}

    return Scenario(
        workflow="onboard",
        name=kind,
        input=folder("acme"),
        other_input=folder("other"),
        sandboxes={"crm": kind},
        only=only,
    )


# Each offers something else: a key, a lookup, nothing. At the last one a doubt is a person's.
scenarios = (_at_a_crm("key"), _at_a_crm("lookup", ABOUT_THE_RECEIVER), _at_a_crm("none", ABOUT_THE_RECEIVER))
