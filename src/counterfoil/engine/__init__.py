"""Verbs, writer, runner, worker: what drives a run."""
