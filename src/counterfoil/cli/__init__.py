"""The command line: one file per noun, one JSON document per command."""
