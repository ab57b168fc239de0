"""Every page of the console that can be looked at: the lists, and one of each thing."""

LISTS = (
    "/inbox", "/runs", "/runs?state=parked", "/operations", "/operations?status=unknown", "/reviews", "/incidents",
    "/receivers", "/receivers/post", "/deliveries", "/deliveries?orphans=yes", "/catalogue", "/catalogue/stripe_v1",
    "/workers", "/stop", "/find?q=run", "/shortcuts", "/audit", "/access", "/charts", "/money",
    "/charts?span=week", "/inbox?reason=review", "/inbox/bulk?act=lookup", "/inbox/bulk?act=cancel",
)  # fmt: skip
THINGS = ("/runs/run-1", "/operations/op-1")
REFUSED = ("/nothing-here", "/runs/run-999")
EVERY = LISTS + THINGS + REFUSED
