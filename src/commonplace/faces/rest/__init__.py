"""The REST API: a wiki over HTTP and JSON, for programs and for the `wiki` tools of other machines."""
