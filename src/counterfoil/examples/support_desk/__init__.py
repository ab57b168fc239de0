"""A support desk: an agent that looks up, notes, refunds and writes e-mails. The last two are operations."""
