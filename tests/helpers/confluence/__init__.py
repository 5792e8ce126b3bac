"""A faithful site on loopback: the state of a space, its API, and a judge of what is said to it."""
