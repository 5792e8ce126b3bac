"""Layers resolved into one effective concept: values, merge rules and output."""
