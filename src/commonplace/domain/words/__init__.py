"""What words of single languages and scripts have of their own: other spellings, letters, articles and endings."""
