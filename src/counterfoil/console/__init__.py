"""The operator console and the HTTP API, as one ASGI application: `from counterfoil.console.asgi import asgi`."""
