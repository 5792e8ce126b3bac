"""Checks of `doctor` on the machine: settings and folders, the port, and the files of clients."""
