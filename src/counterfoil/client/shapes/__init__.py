"""The shapes of answers, as the API gives them and the client reads them: docs/reference/cli.md names the same fields."""
