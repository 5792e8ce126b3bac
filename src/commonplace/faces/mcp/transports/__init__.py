"""How messages reach a server and answers leave it: standard input and output, and HTTP."""
