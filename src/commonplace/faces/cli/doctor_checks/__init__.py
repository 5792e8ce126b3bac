"""Checks of `doctor` on the machine: settings, folders, the port, and the configuration files of clients."""
