"""What the installation does by itself: duties, each carried out by one process at a time under a lease."""
