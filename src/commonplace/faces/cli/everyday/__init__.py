"""Commands for daily use: create, open, move and delete pages, and browse them."""
