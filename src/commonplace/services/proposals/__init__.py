"""Proposals: writes that wait for a person. Who proposes sees them; who may write decides."""
