"""Whether a key may write: folders, types, and what it has written in the hour, with what is left in the refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.activity import Access, Actor, HourlyUse, PlannedWrite, WriteLimits, attached_to
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ForbiddenError, RateLimitedError, TooLargeError
from commonplace.faces.errors import error_mapping
from commonplace.services.collections import Collections
from commonplace.services.write_watch import CallWatch, require_allowed
from indexed import Indexed

NOTE, TASK = b"---\ntype: note\n---\n# A\n", b"---\ntype: task\n---\n# A\n"


def write(after: Mapping[str, bytes | None], before: Mapping[str, bytes | None] | None = None) -> PlannedWrite:
    old = {Address(path): (before or {}).get(path) for path in after}
    return PlannedWrite("base", "id", old, {Address(path): content for path, content in after.items()})


class Uses:
    """Says that so much was written already; remembers what is counted."""

    def __init__(self, pages: int, size: int) -> None:
        self.use = HourlyUse(pages, size, 59.0)
        self.counted = 0

    def reserve(self, caller: str, pages: int, size: int, check: Callable[[HourlyUse], None]) -> Callable[[], None]:
        del caller, size
        check(self.use)
        self.counted += pages
        return self.release

    def release(self) -> None:
        self.counted = 0


class Log:
    """Keeps what is added."""

    def __init__(self) -> None:
        self.added: list[Access] = []

    def add(self, access: Access) -> None:
        self.added.append(access)

    def accesses(self, bases: object, since: float = 0.0) -> list[Access]:
        del bases, since
        return self.added


def watch(limits: WriteLimits, uses: Uses) -> CallWatch:
    return CallWatch(Actor(face="rest", session="s", caller="key:1"), Log(), uses, Collections(list), limits)


def test_one_file_outside_the_folders_refuses_the_whole_write() -> None:
    limits = WriteLimits(folders=("inbox", "a/b"))
    require_allowed(limits, write({"inbox/x.md": NOTE, "a/b/y.md": None}), None)
    for path in ("x.md", "inbox2/x.md", "a/x.md", "Inbox/x.md"):
        with pytest.raises(ForbiddenError, match="This key writes in inbox/ and a/b/ only"):
            require_allowed(limits, write({"inbox/x.md": NOTE, path: NOTE}), None)


def test_a_folder_may_be_that_of_one_collection_or_all_of_it() -> None:
    for folders in (("base:",), ("other:", "base:inbox"), ("inbox", "other:")):
        require_allowed(WriteLimits(folders=folders), write({"inbox/x.md": NOTE}), None)
    for folders in (("other:",), ("other:inbox", "base:in"), ("bas:", "base:inbox/x.md")):
        with pytest.raises(ForbiddenError, match=r"only; base:inbox/x\.md is not there"):
            require_allowed(WriteLimits(folders=folders), write({"inbox/x.md": NOTE}), None)


def test_a_refusal_names_the_collection_and_not_its_folder(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": NOTE}) as base:
        named = replace(base.collection, name="harbour", other_names=frozenset({base.collection.store.name}))
        actor, after = Actor(face="rest", session="s", caller="key:1"), {Address("x/a.md"): NOTE}
        planned = PlannedWrite(base.collection.store.name, base.collection.store.identity, after, after)
        for name in ("harbour", base.collection.store.name):
            limits = WriteLimits(folders=(f"{name}:in",))
            guard = CallWatch(actor, Log(), Uses(0, 0), Collections(lambda: [named]), limits)
            with pytest.raises(ForbiddenError, match=r"in harbour:in/ only; harbour:x/a\.md is not there"):
                guard.deciding(planned)
            inside = {Address("in/a.md"): NOTE}
            guard.deciding(replace(planned, before=inside, after=inside))


def test_the_type_before_and_after_decides() -> None:
    limits = WriteLimits(types=("note",))
    require_allowed(limits, write({"a.md": NOTE}, {"a.md": NOTE}), None)
    for before, after in ((TASK, NOTE), (NOTE, TASK), (None, b"# No type\n"), (TASK, None)):
        with pytest.raises(ForbiddenError, match="pages of type note only"):
            require_allowed(limits, write({"a.md": after}, {"a.md": before}), None)


def test_an_attachment_belongs_to_its_pages(tmp_path: Path) -> None:
    limits = WriteLimits(types=("note",))
    files = {"n.md": NOTE + b"[f](files/n.pdf)\n", "t.md": TASK + b"[f](files/t.pdf)\n", "files/n.pdf": b"1"}
    with Indexed(tmp_path, {**files, "files/t.pdf": b"1"}) as base:
        require_allowed(limits, write({"files/n.pdf": b"2"}), base.collection)
        with pytest.raises(ForbiddenError, match=r"a page of files/t\.pdf has the type task"):
            require_allowed(limits, write({"files/t.pdf": b"2"}), base.collection)
        with pytest.raises(ForbiddenError, match=r"no page of files/x\.pdf is known"):
            require_allowed(limits, write({"files/x.pdf": b"2"}), base.collection)
        with attached_to(Address("new.md"), NOTE):
            require_allowed(limits, write({"files/x.pdf": b"2"}), base.collection)
        with attached_to(Address("new.md"), TASK), pytest.raises(ForbiddenError):
            require_allowed(limits, write({"files/n.pdf": b"2"}), base.collection)


def test_a_refusal_says_which_limit_and_what_is_left() -> None:
    uses = Uses(pages=9, size=90)
    two = watch(WriteLimits(pages=10), uses).writing(write({"a.md": b"1", "b.md": b"2"}))
    said = "10 pages an hour: 9 are written, 1 are left, and this write has 2"
    with pytest.raises(RateLimitedError, match=said) as caught, two:
        raise AssertionError
    assert caught.value.context["retry_after"] == 60
    large = watch(WriteLimits(size=100), uses).writing(write({"a.md": b"x" * 11}))
    with pytest.raises(RateLimitedError, match="100 bytes an hour"), large:
        raise AssertionError
    for limits, words in (
        (WriteLimits(pages=1), "1 pages an hour, and this write alone has 2"),
        (WriteLimits(pages=99, size=1), "1 bytes an hour, and this write alone has 2"),
    ):
        never = watch(limits, uses).writing(write({"a.md": b"1", "b.md": b"2"}))
        with pytest.raises(TooLargeError, match=words) as refused, never:
            raise AssertionError
        assert not error_mapping(refused.value).retryable
    assert uses.counted == 0


def test_a_write_that_was_not_made_is_neither_counted_nor_logged() -> None:
    uses = Uses(0, 0)
    guard = watch(WriteLimits(pages=10), uses)
    with pytest.raises(OSError, match="full"), guard.writing(write({"a.md": NOTE})):
        raise OSError("full")
    assert (uses.counted, guard.log.accesses([])) == (0, [])
    with guard.writing(write({"a.md": NOTE})) as finish:
        finish("c1")
    assert (uses.counted, [access.commit for access in guard.log.accesses([])]) == (1, ["c1"])
