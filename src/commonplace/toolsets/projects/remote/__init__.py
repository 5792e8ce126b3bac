"""The project store with its remote: set up at the first start, synchronized with `origin`."""
