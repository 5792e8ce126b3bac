"""The REST API of a server of layers: it reads the effective graph."""
