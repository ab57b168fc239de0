"""Telling people and other systems what needs somebody: through Apprise, and by signed webhooks."""

from counterfoil.app.notices.noun import Notices

__all__ = ["Notices"]
