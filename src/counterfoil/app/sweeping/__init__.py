"""The witness sweep: records are counted at receivers after their operations were closed."""
