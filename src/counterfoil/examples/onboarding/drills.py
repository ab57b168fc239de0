"""What is played when the onboarding case is drilled: `counterfoil drill counterfoil.examples.onboarding.app:onboard`."""

from counterfoil.drills.scenario import Scenario
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS


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


# A CRM with a key carries the whole matrix; at the others the faults that need a lookup, or nobody's help, are played.
scenarios = (_at_a_crm("key"),)
