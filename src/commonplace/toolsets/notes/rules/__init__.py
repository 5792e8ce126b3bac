"""Rules of the toolset `notes` that need nothing but values."""
