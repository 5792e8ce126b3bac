"""What searching by meaning has of a collection, and pages that mean nearly the same."""

from __future__ import annotations

from commonplace.domain.nearness import MeaningState
from commonplace.services.collections import Collection

OFF = MeaningState(status="off", reason="Search by meaning is switched off (--no-embed, or the setting embed).")


def meaning_state(collection: Collection) -> MeaningState:
    """The state of a collection's vectors: which model, how much is embedded, and what is wrong."""
    return collection.meaning.state() if collection.meaning else OFF
