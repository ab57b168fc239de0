"""Our speed beside the plain loop, in one run: `python -m benchmarks`. Not shipped in the wheel."""
