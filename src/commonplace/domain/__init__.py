"""Values and pure rules: no framework, no file system, no clock."""
