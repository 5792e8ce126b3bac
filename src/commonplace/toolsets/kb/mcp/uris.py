"""What the URIs of the `kb` toolset begin with, and the type of what most of them name."""

REFERENCE_SCHEME = "pyrite"
"""Its resources are bare: an array of bases, an array of entries, one entry."""
SCHEMES = (REFERENCE_SCHEME, "commonplace")
JSON_TYPE = "application/json"
