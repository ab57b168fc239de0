"""What receivers send by themselves: the signature, storing it, and whose operation it is."""
