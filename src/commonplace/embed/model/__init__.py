"""The model: made from published weights, found on this machine, and run."""
