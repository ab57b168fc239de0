"""From one worker to eight: one PostgreSQL under ours and under DBOS, Temporal's development server, and one SQLite file."""
