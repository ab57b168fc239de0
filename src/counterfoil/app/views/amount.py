"""Money as it is shown."""

from counterfoil.model.operation import OperationRecord


def amount_view(operation: OperationRecord | None) -> dict[str, int | str] | None:
    """`{minor, currency}`; None where the payload marks no amount."""
    if operation is None or operation.amount_minor is None or operation.currency is None:
        return None
    return {"minor": operation.amount_minor, "currency": operation.currency}
