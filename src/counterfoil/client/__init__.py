"""The API as other programs use it: its shapes, and a typed client."""
