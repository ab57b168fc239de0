"""`counterfoil chat`: a conversation in a terminal."""
