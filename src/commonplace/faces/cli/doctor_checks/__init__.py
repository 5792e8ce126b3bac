"""What `doctor` looks at on the machine: settings and places, the port, and the files of clients."""
