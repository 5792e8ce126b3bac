"""What an index asks of the process that it is open in: memory, and files."""
