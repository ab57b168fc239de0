"""Pure views: rows in, the JSON shapes of the command line out."""
