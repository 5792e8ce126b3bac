"""Pages of a synced space: what a space folder says, what a page is, and what can be asked of its pages."""
