"""What every backend of the store must do, as plain functions over one factory. A new backend joins unchanged."""

from counterfoil.testing.conformance.bench import Bench, MakeDatabase
from counterfoil.testing.conformance.suite import AreaCount, Case, ConformanceReport, cases, run_conformance

__all__ = ["AreaCount", "Bench", "Case", "ConformanceReport", "MakeDatabase", "cases", "run_conformance"]
