"""Records of the documents that clients have been shown."""
