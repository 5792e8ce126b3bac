"""Whatever happens to a folder, in whatever order, the index ends as one that was built from nothing would be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import Fragments
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.domain.ports import Index
from commonplace.domain.query import ListQuery, ResolvedLink
from commonplace.index import open_index
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.writes import WriteRequest
from commonplace.store import open_store
from indexed import answers
from support import ROOT, SOAK, Amount, GitRepo, eventually

PATHS = [f"{folder}{name}.md" for folder in ("", "a/", "a/b/") for name in ("one", "two", "Index", "日本", "x y")]
WORDS = ("tide", "harbour", "日本語", "Straße", "quay")
TITLES = ("One", "Two", "", "Höhe", "日本")
SEARCHED = tuple(word for word in (*WORDS, *TITLES) if word)
KILLED = ROOT / "tests" / "fault" / "index_process.py"

addresses = st.sampled_from(PATHS).map(Address)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A page: sometimes with frontmatter (good or bad), headings, links, tags, CRLF, or no UTF-8 at all."""
    lines: list[str] = []
    if draw(st.booleans()):
        keys = [
            f"title: {draw(st.sampled_from(TITLES))}",
            f"tags: [{draw(st.sampled_from(['a', 'a/b', '日本']))}]",
            f"type: {draw(st.sampled_from(['note', 'guide']))}",
            f"id: {draw(st.sampled_from(['one', 'fixed']))}",
            "bad: [",
            f"date: 2026-0{draw(st.integers(1, 9))}-01",
            f"aliases: [{draw(st.sampled_from(TITLES[:2]))}, other]",
        ]
        lines += ["---", *draw(st.lists(st.sampled_from(keys), unique=True, max_size=4)), "---"]
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 3))
        target = draw(st.sampled_from(PATHS))
        part = draw(st.sampled_from(["", *(f"#{word}" for word in WORDS[:3])]))
        words = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)))
        lines += [
            [
                f"## {words}",
                f"{words} #tag",
                f"see [[{target.removesuffix('.md')}{part}|{words}]] now",
                f"[{words}]({target}{part})",
            ][kind],
            "",
        ]
    text = draw(st.sampled_from(["\n", "\r\n"])).join(lines)
    return text.encode() if draw(st.integers(0, 9)) else text.encode() + b"\xff\xfe"


class Folder(RuleBasedStateMachine):
    """A repository with an open index, to which things happen."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.repo = GitRepo(self.place / "base")
        self.repo.path.mkdir()
        self.branches = 1
        for command in (
            ("init", "--quiet", "--initial-branch=main"),
            ("config", "user.name", "T"),
            ("config", "user.email", "t@example.org"),
        ):
            self.repo.git(*command)
        self.repo.commit("begin", **{"one.md": "# One\n\ntide [[two]]\n"})
        self._open()

    def _open(self) -> None:
        self.collection = Collection("base", self._store(), self._index("cache"))
        self.collection.index.sync()

    def _store(self):  # noqa: ANN202 - the port's own type says it
        return open_store(self.repo.path, commit="auto", state_dir=self.place / "state")

    def _index(self, cache: str) -> Index:
        return open_index(self._store(), self.place / cache)

    @initialize(text=texts())
    def a_second_page(self, text: bytes) -> None:
        self.repo.commit("second", **{"two.md": text})

    @rule(address=addresses, text=texts())
    def a_page_is_created(self, address: Address, text: bytes) -> None:
        try:
            writes.create(self.collection, address, text)
        except AlreadyExistsError:
            assert (self.repo.path / address.path).exists()

    @rule(address=addresses, text=texts())
    def a_page_is_replaced(self, address: Address, text: bytes) -> None:
        try:
            writes.replace(self.collection, address, text)
        except NotFoundError:
            assert not (self.repo.path / address.path).exists()

    @rule(address=addresses, other=addresses)
    def a_page_is_renamed(self, address: Address, other: Address) -> None:
        try:
            writes.rename(self.collection, address, other, WriteRequest(message="Rename"))
        except (AlreadyExistsError, InvalidInputError, NotFoundError):
            return

    @rule(address=addresses)
    def a_page_is_deleted(self, address: Address) -> None:
        try:
            writes.delete(self.collection, address)
        except NotFoundError:
            return

    @rule(address=addresses, text=texts())
    def an_editor_saves_a_file(self, address: Address, text: bytes) -> None:
        file = self.repo.path / address.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)

    @rule(address=addresses, other=addresses)
    def a_page_grows_while_another_begins_to_link_to_it(self, address: Address, other: Address) -> None:
        for place, added in ((address, "\nmore\n"), (other, f"\n[{address.stem}](/{address.path})\n")):
            file = self.repo.path / place.path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as growing:
                growing.write(f"{added}[[{address.id}]]\n")

    @rule(address=addresses)
    def a_file_is_touched(self, address: Address) -> None:
        file = self.repo.path / address.path
        if file.exists():
            os.utime(file, (1_600_000_000, 1_600_000_000))

    @rule(address=addresses, text=texts())
    def a_tool_replaces_a_file_and_keeps_its_times(self, address: Address, text: bytes) -> None:
        file = self.repo.path / address.path
        if file.exists():
            before = file.stat()
            beside = file.with_suffix(".part")
            beside.write_bytes(text)
            os.utime(beside, ns=(before.st_atime_ns, before.st_mtime_ns))
            beside.replace(file)

    @rule(address=addresses, other=addresses)
    def a_file_is_moved(self, address: Address, other: Address) -> None:
        file, target = self.repo.path / address.path, self.repo.path / other.path
        if file.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)

    @rule(address=addresses)
    def a_file_is_removed(self, address: Address) -> None:
        (self.repo.path / address.path).unlink(missing_ok=True)

    @rule()
    def a_folder_is_removed(self) -> None:
        shutil.rmtree(self.repo.path / "a", ignore_errors=True)

    @rule()
    def everything_is_committed(self) -> None:
        self.repo.commit("all")

    @rule()
    def a_branch_is_begun(self) -> None:
        self.branches += 1
        self.repo.git("branch", "--quiet", f"b{self.branches}")

    @precondition(lambda self: self.branches > 1)
    @rule(number=st.integers(2, 9))
    def another_branch_is_switched_to(self, number: int) -> None:
        self.repo.commit("before the switch")
        self.repo.git("switch", "--quiet", "--force", f"b{2 + number % (self.branches - 1)}")

    @rule()
    def the_last_commit_is_taken_back(self) -> None:
        if int(self.repo.git("rev-list", "--count", "HEAD")) > 1:
            self.repo.git("reset", "--quiet", "--hard", "HEAD~1")

    @rule()
    def the_index_is_brought_up_to_date(self) -> None:
        self.collection.index.sync()
        self._assert_as_fresh()

    @rule()
    def the_process_ends_and_another_begins(self) -> None:
        self.collection.index.close()
        self._open()

    @rule()
    def another_process_brings_the_index_up_to_date(self) -> None:
        other = self._index("cache")
        other.sync()
        other.close()

    @rule()
    def the_cache_is_deleted_while_it_is_used(self) -> None:
        shutil.rmtree(self.place / "cache", ignore_errors=True)

    @rule()
    def the_indexer_is_killed_halfway(self) -> None:
        environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, str(KILLED), str(self.place), "halfway"]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)

    def teardown(self) -> None:
        self.collection.index.sync()
        self._assert_as_fresh()
        self.collection.index.close()
        shutil.rmtree(self.place)

    def _assert_as_fresh(self) -> None:
        fresh = self._index("fresh")
        try:
            fresh.sync(afresh=True)
            kept_values, made = (answers(index, SEARCHED) for index in (self.collection.index, fresh))
            for part, right in made.items():
                assert kept_values[part] == right, part
            assert kept_values["dead"] == list(dead_by_documents(fresh))
            if SOAK:  # dates that come from the history are found out in the background, which can take its time
                eventually(lambda: dates(self.collection.index) == dates(fresh), seconds=60)
        finally:
            fresh.close()


def dead_by_documents(index: Index) -> Iterator[ResolvedLink]:
    """The links to parts that their targets do not have, by the targets' texts."""
    for record in index.list(ListQuery(limit=1000)).records:
        for link in index.links_from(record.address):
            if link.link.fragment and link.target and link.link.fragment not in Fragments(index.document(link.target)):
                yield link


def dates(index: Index) -> dict[str, tuple[str, str]]:
    """Creation and modification date of each document in the index."""
    return {r.address.path: (r.created, r.updated) for r in index.list(ListQuery(limit=1000)).records}


def test_after_any_sequence_of_events_the_index_equals_one_built_from_nothing(amount: Amount) -> None:
    run_state_machine_as_test(
        Folder,
        settings=settings(
            max_examples=amount(6, 200),
            stateful_step_count=50 if SOAK else 20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )
