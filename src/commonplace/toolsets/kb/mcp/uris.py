"""Prefixes of the URIs of the `kb` toolset, and the media type of most resources."""

REFERENCE_SCHEME = "pyrite"
"""Scheme of the bare resources: an array of bases, an array of entries, one entry."""
SCHEMES = (REFERENCE_SCHEME, "commonplace")
JSON_TYPE = "application/json"
