"""The face for editors: a server of the Language Server Protocol (LSP) over standard input and output."""
