"""The report as one page that needs nothing beside itself: no script, no font, no picture from elsewhere."""

from counterfoil.drills.html.page import page

__all__ = ["page"]
