"""What is refused about budgets, and about limits over all workers."""

from counterfoil.model.error_code import UNKNOWN, ErrorCode

BUDGETS = (
    ErrorCode(
        "budget_not_raised",
        "The budget {kind} of run {run_id} is spent.",
        "Raise it: `counterfoil runs resume RUN --raise {kind}=N`.",
    ),
    ErrorCode(
        "limit_not_higher",
        "The limit {kind} of {name} is {limit}; {given} is not higher.",
        "Nothing was changed. Name a higher limit: `counterfoil budgets raise BUDGET --raise KIND=N`.",
    ),
    ErrorCode(
        "budget_unfit",
        "The budget of {name} cannot be kept: {problem}.",
        "Correct its declaration; nothing was started.",
    ),
    ErrorCode(
        "unknown_queue",
        "No workflow declares the queue {name}; there are {known}.",
        "Correct the name; the worker was not started.",
        UNKNOWN,
    ),
    ErrorCode(
        "limit_unfit",
        "The limits of {name} cannot be kept: {problem}.",
        "Correct its declaration; nothing was started.",
    ),
)
