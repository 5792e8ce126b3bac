"""Prefixes of the URIs of the `kb` toolset, and the media type of most resources."""

REFERENCE_SCHEME = "pyrite"
"""Its resources are bare: an array of bases, an array of entries, one entry."""
SCHEMES = (REFERENCE_SCHEME, "commonplace")
JSON_TYPE = "application/json"
