"""Where a run's function is executed when it is not by us: a workflow of Temporal, over all its executions.

Namespace, workflow id and the first execution's run id stay what they are when an activity is retried, a workflow is retried,
reset or continued as new. They are the request id of the ledger's run. What we submit has no first execution in it: its workflow
id holds our own request id, which finds the same run for ever, also when Temporal has forgotten the workflow.
"""

from dataclasses import dataclass

# The end of the name under which the ledger keeps such a run. An embedded worker has no code of this name, so it drives none.
MARK = "@temporal"


def identity_generation(workflow: str, generation: int) -> int:
    """What of a run's generation is part of its operations' identities.

    On Temporal nothing: a workflow that continues as new is executed from the top against one record, so no position begins
    again. After a restore the generation in which a lost operation was planned is not known, and another would be another key.
    """
    return 0 if workflow.endswith(MARK) else generation


@dataclass(frozen=True, slots=True)
class Origin:
    """One workflow of Temporal. `first_run_id` is empty where the workflow id alone names the run: we submitted it."""

    namespace: str
    workflow_id: str
    first_run_id: str

    @property
    def request_id(self) -> str:
        """The request id of the ledger's run."""
        return f"{self.namespace}/{self.workflow_id}/{self.first_run_id}"

    @staticmethod
    def of(workflow: str, request_id: str) -> "Origin | None":
        """Of a run of the ledger; None where we execute it. A workflow id may hold slashes; the two others never do."""
        if not workflow.endswith(MARK):
            return None
        namespace, _, rest = request_id.partition("/")
        workflow_id, _, first = rest.rpartition("/")
        return Origin(namespace, workflow_id, first)
