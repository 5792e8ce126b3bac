"""The toolset `cascade`: concepts in layers, resolved into one graph with provenance and conflicts."""
