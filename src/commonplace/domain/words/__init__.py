"""Language- and script-specific rules: spelling variants, letters, articles and endings."""
