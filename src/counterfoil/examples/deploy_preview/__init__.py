"""A preview of a pull request is deployed, and a comment says where it is: one of each, wherever the worker dies."""
