"""What clients have been shown."""
