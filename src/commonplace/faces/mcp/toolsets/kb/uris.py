"""What the URIs of the `kb` toolset begin with, and the type of what most of them name."""

SCHEMES = ("pyrite", "commonplace")
JSON_TYPE = "application/json"
