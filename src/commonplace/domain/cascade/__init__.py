"""Layers resolved into one effective concept: what is read of each, the rules that merge them, and what comes out."""
