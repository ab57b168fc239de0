"""Traces, read from the journal: complete after any crash, and told once. OpenTelemetry stands behind this door alone."""

from counterfoil.app.tracing.exporting import Exporting as Exporting
from counterfoil.app.tracing.exporting import exporting_of as exporting_of
