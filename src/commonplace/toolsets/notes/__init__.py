"""The toolset `notes`: pages of a plain folder, found, read and edited in few tokens."""
