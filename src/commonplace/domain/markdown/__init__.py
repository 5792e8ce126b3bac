"""Markdown as it is written: what stands where, to the byte."""
