"""The files of one folder: reading without leaving it, listing, and changing several as one step."""
