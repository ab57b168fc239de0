"""The desk's mail server by hand: `python -m counterfoil.examples.support_desk.mail_server [--mailbox DIR] [--port 0]`."""

from counterfoil.testing.servers.smtp_server import main

if __name__ == "__main__":
    main()
