"""Pure rules of the toolset `notes`."""
