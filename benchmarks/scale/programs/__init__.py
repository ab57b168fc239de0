"""The same work on each engine, as a worker process: `ready` on standard output, then one line for each step that is told."""
