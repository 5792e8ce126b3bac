"""Processes of the product that are forked from one which has it loaded."""
