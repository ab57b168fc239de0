"""What of a generation is in an identity."""

from counterfoil.model.origin import MARK, identity_generation


def test_continuing_as_new_on_temporal_changes_no_identity() -> None:
    assert identity_generation(f"buy{MARK}", 3) == identity_generation(f"buy{MARK}", 0) == 0
    assert identity_generation("buy", 3) == 3
