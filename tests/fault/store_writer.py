"""A process that writes to a store until it is ended, or so many times, and tells each acknowledged write.

`python store_writer.py FOLDER STATE COMMIT NAME COUNT`: COUNT 0 means for ever. Each line it prints is JSON: the
transaction's number, its commit, and the revision of each file.

Each transaction is one of three: append a line to one of a few shared pages, write the same text to two pages, or
move a page from one folder to another.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.ports import Store, Transaction
from commonplace.store import open_store

PAGES = 5
HERE, THERE = Address("here/moved.md"), Address("there/moved.md")
PAIR = (Address("pair/left.md"), Address("pair/right.md"))


def append(transaction: Transaction, line: str, chance: random.Random) -> list[Address]:
    """Add a line to a shared page."""
    page = Address(f"page-{chance.randrange(PAGES)}.md")
    before = transaction.read(page) if transaction.exists(page) else b""
    transaction.put(page, before + line.encode())
    return [page]


def pair(transaction: Transaction, line: str, chance: random.Random) -> list[Address]:
    """Write two pages that must always be equal."""
    text = line.encode() * chance.randrange(1, 200)
    for address in PAIR:
        transaction.put(address, text)
    return list(PAIR)


def move(transaction: Transaction, line: str, chance: random.Random) -> list[Address]:
    """Move a page that must always be in one of two places."""
    del chance
    source, target = (HERE, THERE) if transaction.exists(HERE) else (THERE, HERE)
    before = transaction.read(source) if transaction.exists(source) else b""
    transaction.put(target, before + line.encode())
    if before:
        transaction.remove(source)
    return [target]


def write(store: Store, name: str, number: int, chance: random.Random) -> dict[str, object]:
    """One transaction; what is acknowledged."""
    line = f"{name} {number}\n"
    with store.transaction(f"Write {line}") as transaction:
        act = chance.choice([append, append, pair, move])
        addresses = act(transaction, line, chance)
    receipt = transaction.receipt
    return {"line": line, "commit": receipt.commit, "files": [address.path for address in addresses]}


def main(folder: str, state: str, commit: str, name: str, count: str) -> None:
    """Write and tell."""
    store = open_store(Path(folder), commit="auto" if commit == "auto" else "manual", state_dir=Path(state))
    store.recover()
    chance = random.Random(name)
    for number in range(int(count)) if int(count) else itertools.count():
        sys.stdout.write(json.dumps(write(store, name, number, chance)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
