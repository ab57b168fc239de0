"""What is refused about messages that receivers send by themselves."""

from counterfoil.model.error_code import ErrorCode

RECEIPTS = (
    ErrorCode(
        "webhook_unfit",
        "The webhook of the receiver {name} protects nothing: {problem}.",
        "Correct its declaration; nothing was started.",
    ),
    ErrorCode(
        "webhook_refused",
        "The message is refused.",
        "Nothing was stored. `counterfoil doctor` says which receivers have a webhook, and whether their secrets are there.",
    ),
    ErrorCode(
        "not_orphan",
        "Delivery dlv-{number} is {state}, or somebody has closed it already.",
        "Nothing was changed. `counterfoil receipts show` says what it is.",
    ),
)
