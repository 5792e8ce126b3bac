"""The toolset `wiki`: notes in a folder here, or on another server that speaks its REST API."""
