"""Drills: rehearsed failures of the user's own workflow, judged at the receiver and in the journal."""
