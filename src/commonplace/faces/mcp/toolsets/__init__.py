"""One file a toolset: its tools, parameters and shown results."""
