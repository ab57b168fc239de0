"""The words of the system: frozen dataclasses, enums, errors. Imports nothing of ours."""
