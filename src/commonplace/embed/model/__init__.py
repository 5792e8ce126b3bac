"""The model: converted from published weights, located on this machine, and run."""
