"""A process that writes to a store until it is ended, or so many times, and tells each acknowledged write.

`python store_writer.py FOLDER STATE COMMIT NAME COUNT [THREADS]`: COUNT 0 means for ever; each of the threads (1)
writes so many. Each line it prints is JSON: the transaction's line, its commit, its files, and how often this process
has flushed files so far.

Each transaction is one of three: append a line to one of a few shared pages, write the same text to two pages, or
move a page from one folder to another. Several threads also make new pages, which join one group.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.ports import Store, Transaction
from commonplace.store import open_store

PAGES = 5
HERE, THERE = Address("here/moved.md"), Address("there/moved.md")
PAIR = (Address("pair/left.md"), Address("pair/right.md"))

Act = Callable[[Transaction, str, random.Random], list[Address]]
"""A function that applies a line in a transaction and returns the changed addresses."""


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


def new(transaction: Transaction, line: str, chance: random.Random) -> list[Address]:
    """Make a page that no other transaction touches."""
    del chance
    address = Address(f"new/{line.strip().replace(' ', '-')}.md")
    transaction.put(address, line.encode())
    return [address]


def write(store: Store, name: str, number: int, chance: random.Random, acts: list[Act]) -> dict[str, object]:
    """One transaction; what is acknowledged."""
    line = f"{name} {number}\n"
    with store.transaction(f"Write {line}") as transaction:
        addresses = chance.choice(acts)(transaction, line, chance)
    receipt = transaction.receipt
    return {"line": line, "commit": receipt.commit, "files": [address.path for address in addresses]}


def main(folder: str, state: str, commit: str, name: str, count: str, threads: str = "1") -> None:
    """Write and tell."""
    flushes = itertools.count()
    flushed = [0]

    def hear(event: str, _: tuple[object, ...]) -> None:
        if event == "commonplace.flush":
            flushed[0] = next(flushes) + 1

    sys.addaudithook(hear)
    store = open_store(Path(folder), commit="auto" if commit == "auto" else "manual", state_dir=Path(state))
    store.recover()

    def run(own: str, acts: list[Act]) -> None:
        chance = random.Random(own)
        for number in range(int(count)) if int(count) else itertools.count():
            reported_values = write(store, own, number, chance, acts) | {"flushes": flushed[0]}
            os.write(1, json.dumps(reported_values).encode() + b"\n")  # at once, so that no two lines mix

    if int(threads) == 1:
        run(name, [append, append, pair, move])
        return
    with ThreadPoolExecutor(int(threads)) as pool:
        for ended in [
            pool.submit(run, f"{name} {n}", [append, new, new, new, pair, move]) for n in range(int(threads))
        ]:
            ended.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
