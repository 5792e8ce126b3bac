"""One process of the index's fault tests: `python index_process.py PLACE WORK [SEED]`.

PLACE is where `Indexed` has its folder and cache; WORK is `sync` (a first sync, which the test kills), `write` (writes
and updates pages of its own until it is killed, printing each acknowledged one), `halfway` (a sync that dies when the
full text has its changes and the catalogue has not) or `count` (how many documents).
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.query import SearchQuery
from commonplace.index import ingestion, open_index
from commonplace.store import open_store


def say(line: str) -> None:
    """Tell the test at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def die(_connection: sqlite3.Connection) -> None:
    """End at once, as a kill would."""
    os._exit(0)


def main() -> None:
    """Do what the arguments say."""
    place, work = Path(sys.argv[1]), sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    store = open_store(place / "base", commit="manual", state_dir=place / "state")
    index = open_index(store, place / "cache")
    if work == "sync":
        say("ready")
        index.sync()
    elif work == "halfway":
        ingestion.make_late_indexes = die
        index.sync()
    elif work == "write":
        index.sync()
        say("ready")
        chance = random.Random(seed)
        number = 0
        while True:
            number += 1
            path = f"p{seed}/n{chance.randrange(20)}.md"
            word = f"w{seed}x{number}x"
            file = place / "base" / path
            file.parent.mkdir(exist_ok=True)
            # Beside and renamed: killed between opening and writing, it would leave an empty page.
            beside = file.with_suffix(".part")
            beside.write_text(f"# Page\n\nthe text {word} shared\n", encoding="utf-8")
            beside.replace(file)
            index.update([Address(path)])
            hits = index.search(SearchQuery(text=f"{word} ", prefix=False)).hits
            assert [hit.record.address.path for hit in hits] == [path], (word, hits)
            say(f"{path} {word}")
    say(str(index.counts().documents))
    index.close()


if __name__ == "__main__":
    main()
