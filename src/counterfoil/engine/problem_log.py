"""Where an engine writes what went wrong and no run is to blame for: the standard log, named `counterfoil`."""

import logging

log = logging.getLogger("counterfoil")
