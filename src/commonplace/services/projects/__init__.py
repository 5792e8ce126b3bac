"""The use cases of project knowledge."""
