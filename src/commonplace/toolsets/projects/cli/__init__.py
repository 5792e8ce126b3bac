"""The command on projects."""
