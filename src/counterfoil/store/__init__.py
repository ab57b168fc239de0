"""Where facts are kept. The only package that knows SQL."""
