"""What clients were given."""

from __future__ import annotations

from commonplace.services.wiki import seen
from commonplace.services.wiki.seen import Seen


def test_each_client_has_its_own_memory_without_regard_to_case() -> None:
    memory = Seen()
    memory.remember("a", "Actors/Iran", "1")
    assert memory.last("a", "actors/iran") == "1"
    assert memory.last("b", "Actors/Iran") == ""
    memory.forget("a", "ACTORS/IRAN")
    assert memory.last("a", "Actors/Iran") == ""


def test_the_oldest_are_forgotten_first() -> None:
    memory = Seen()
    for number in range(seen.MAX_SEEN + 1):
        memory.remember("a", str(number), "1")
    assert memory.last("a", "0") == ""
    assert memory.last("a", "1") == "1"
