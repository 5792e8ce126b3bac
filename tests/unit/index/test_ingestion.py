"""Bringing files in: full syncs, single changes, odd files, dates."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, NotFoundError
from commonplace.domain.query import Filter, ListQuery, SearchQuery, SyncReport
from commonplace.index import ingestion, open_index, transaction
from commonplace.index.fulltext import ranking
from commonplace.index.fulltext.tantivy_index import FullTextWriter
from commonplace.index.ingestion import MAX_SMALL_UPDATE
from commonplace.index.transaction import UNSETTLED_NS
from commonplace.store import open_store
from indexed import PERMISSIONS, Indexed, MakeBase, eventually, permissions_hold
from support import GitRepo


def test_a_sync_tells_what_it_changed(base: MakeBase) -> None:
    made = base({"a.md": "# A", "b.md": "# B", "c.md": "# C"})
    made.write_settled("a.md", "# A changed")
    made.write_settled("d.md", "# D")
    (made.folder / "b.md").unlink()
    assert made.index.sync() == SyncReport(added=1, updated=1, removed=1)
    assert made.listed() == ["a.md", "c.md", "d.md"]


def test_a_sync_without_changes_changes_nothing(base: MakeBase) -> None:
    made = base({})
    made.write_settled("a.md", "# A")
    made.index.sync()
    generation = made.index.generation
    assert made.index.sync() == SyncReport()
    assert made.index.generation == generation


def test_a_touched_file_is_read_again_but_not_indexed_again(base: MakeBase) -> None:
    # It says itself when it was made and changed, so its file's times say nothing new.
    text = "---\ncreated: 2020-01-01\nupdated: 2020-01-01\n---\n# A"
    made = base({"a.md": text})
    generation = made.index.generation
    made.write_settled("a.md", text, 50)
    assert made.index.sync() == SyncReport()
    assert made.index.generation == generation


def test_a_change_that_leaves_size_and_times_alike_is_found_when_it_follows_at_once(base: MakeBase) -> None:
    made = base({"a.md": "# AA"})
    status = (made.folder / "a.md").stat()
    made.write("a.md", "# BB")
    os.utime(made.folder / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert made.index.sync().updated == 1


def test_many_changes_at_once_are_taken_in(base: MakeBase) -> None:
    made = base({f"n{number:03}.md": f"# N{number}\n\nold [[n{(number + 1) % 300:03}]]" for number in range(300)})
    for number in range(0, 300, 2):
        made.write(f"n{number:03}.md", f"# N{number}\n\nnew [[n{(number + 2) % 300:03}]]")
    for number in range(1, 100, 2):
        (made.folder / f"n{number:03}.md").unlink()
    report = made.index.sync()
    assert (report.added, report.updated, report.removed) == (0, 150, 50)
    assert made.index.search(SearchQuery(text="new")).total == 150
    assert made.index.search(SearchQuery(text="old")).total == 100
    assert len(made.index.links_to(Address("n010.md"))) == 1


def test_a_write_of_many_files_is_found_and_leaves_nothing_to_index(base: MakeBase) -> None:
    names = [f"n{number:03}.md" for number in range(MAX_SMALL_UPDATE + 20)]
    made = base({**dict.fromkeys(names, "# Old\n\nold [[hub]]"), "hub.md": "# Hub", "p.png": b"\x89PNG"})
    for name in names[1:]:
        made.write(name, "# New\n\nnew [[hub]]")
    (made.folder / names[0]).unlink()
    made.index.update([Address(name) for name in [*names, "p.png", "gone.md"]], 60)
    assert made.index.search(SearchQuery(text="new")).total == len(names) - 1
    assert made.index.search(SearchQuery(text="old")).total == 0
    assert len(made.index.links_to(Address("hub.md"))) == len(names) - 1
    assert made.index.sync() == SyncReport()


def test_a_sync_in_several_batches_takes_nothing_out_that_was_never_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[int] = []

    def remove(_: FullTextWriter, key: int) -> None:
        removed.append(key)

    monkeypatch.setattr(ingestion, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(FullTextWriter, "remove", remove)
    files = {f"n{number:03}.md": f"# N{number}\n\nwombat {'x ' * 50}" for number in range(90)}
    with Indexed(tmp_path, files) as made:
        assert made.index.search(SearchQuery(text="wombat")).total == 90
        assert removed == []


def test_a_search_finds_the_first_files_while_the_others_are_being_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "FIRST_BATCH_BYTES", 2_000)
    with Indexed(tmp_path) as made:
        for number in range(200):
            made.write(f"n{number:03}.md", f"# N{number}\n\nwombat {'x ' * 50}")
        first, reader = open_index(made.store, tmp_path / "other"), open_index(made.store, tmp_path / "other")
        found: dict[int, int] = {}

        def look(done: int, total: int) -> None:
            if done in {1, 50, total}:
                found[done] = reader.search(SearchQuery(text="wombat")).total

        first.sync(look)
        assert found[1] == 0
        assert 0 < found[50] < 30 < found[200] < 200, "each batch is larger than the one before"
        assert first.search(SearchQuery(text="wombat")).total == 200
        first.close()
        reader.close()


def test_what_a_failed_batch_may_have_left_is_replaced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"n{number:03}.md": f"# N{number}\n\nwombat {'x ' * 50}" for number in range(90)}

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with Indexed(tmp_path, {"a.md": "# A"}) as made:
        for path, text in files.items():
            made.write(path, text)
        with monkeypatch.context() as patching:
            # Both halves of the full text are committed, and nothing of it comes into the catalogue.
            patching.setattr(transaction, "mark_batch_done", fail)
            with pytest.raises(ZeroDivisionError):
                made.index.sync()
        monkeypatch.setattr(ingestion, "BATCH_BYTES", 2_000)
        made.index.sync()
        answer = made.index.search(SearchQuery(text="wombat", limit=100))
        assert answer.total == len({hit.record.address for hit in answer.hits}) == 90


def test_progress_counts_up_to_the_number_of_changed_files(tmp_path: Path) -> None:
    files = {f"n{number}.md": "# N" for number in range(30)}
    with Indexed(tmp_path, files) as made:
        # Files that were read just after they were written are read once more by the next sync.
        newest = max(file.stat().st_ctime_ns for file in made.folder.iterdir())
        assert eventually(lambda: time.time_ns() - newest > UNSETTLED_NS)
        made.index.sync()
        other = made.another()
        (made.folder / "n1.md").unlink()
        steps: list[tuple[int, int]] = []
        for number in range(100, 200):
            made.write(f"m{number}.md", "# M")
        other.sync(lambda done, total: steps.append((done, total)))
        assert steps[-1] == (101, 101)
        assert [done for done, _ in steps] == list(range(1, 102))
        other.close()


def test_a_renamed_file_moves_with_everything_it_has(base: MakeBase) -> None:
    made = base({"a.md": "---\ntags: [x]\n---\n# Title\n\nmarsupial [[b]]", "b.md": "# B"})
    (made.folder / "a.md").rename(made.folder / "z.md")
    made.index.update([Address("a.md"), Address("z.md")])
    assert made.found("marsupial") == ["z.md"]
    assert made.listed(Filter(tags=("x",))) == ["z.md"]
    assert [link.source.path for link in made.index.links_to(Address("b.md"))] == ["z.md"]


def test_a_file_that_was_not_there_when_it_was_reported_is_found_when_it_comes(base: MakeBase) -> None:
    made = base({f"n{number:03}.md": "# N" for number in range(64)})
    made.index.update([Address("late.md")])
    assert made.found("kangaroo") == []
    made.update("late.md", "# Late\n\nkangaroo\n")
    assert made.found("kangaroo") == ["late.md"]


def test_a_file_that_is_reported_twice_is_taken_in_once(base: MakeBase) -> None:
    made = base({"a.md": "# A"})
    address = made.write("b.md", "# B\n\nkangaroo [[a]]\n")
    made.index.update([address, Address("a.md"), address])
    assert made.found("kangaroo") == ["b.md"]
    assert [link.source for link in made.index.links_to(Address("a.md"))] == [address]


def test_fresh_changes_move_into_the_full_text_without_a_trace(base: MakeBase) -> None:
    made = base({f"n{number:03}.md": f"# N\n\nshared word{number}\n" for number in range(64)})
    for number in range(64):
        made.update(f"n{number:03}.md", f"# N\n\nshared changed{number}\n")
        assert made.found(f"changed{number} ") == [f"n{number:03}.md"]
        assert made.found(f"word{number} ", prefix=False) == []
        assert made.index.search(SearchQuery(text="shared")).total == 64


@pytest.mark.soak
def test_scores_of_fresh_documents_are_those_of_the_full_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_NAMED", "MAX_RERANKED"):
        monkeypatch.setattr(ranking, limit, 300)
    text = "# Page {0}\n\nalpha beta {1} more words for length number {0}\n\n## Part\n\nalpha std::map 知识库 กาแฟร้อน\n"
    files = {f"n{number:03}.md": text.format(number, "gamma " * (number % 5)) for number in range(200)}
    with Indexed(tmp_path / "fresh", files) as fresh, Indexed(tmp_path / "whole", files) as whole:
        for number in range(0, 200, 20):
            content = text.format(number, "gamma delta gamma")
            fresh.update(f"n{number:03}.md", content)
            whole.write(f"n{number:03}.md", content)
        again = Indexed(
            tmp_path / "again", {str(p.relative_to(whole.folder)): p.read_text() for p in whole.folder.glob("*")}
        )
        with again:
            for text_ in (
                "gamma alpha",
                "std::map page",
                "知识",
                "กาแฟ",
                "กา",
                '"กา" gamma',
                '"库"',
                '"alpha beta" delta',
                "delt",
                "numbr 40",
            ):
                match = fresh.index.search(SearchQuery(text=text_, limit=300))
                other = again.index.search(SearchQuery(text=text_, limit=300))
                assert match.total == other.total, text_
                scores = {hit.record.address: hit.score for hit in other.hits}
                for hit in match.hits:
                    assert hit.score == pytest.approx(scores[hit.record.address], rel=0.25, abs=0.15), text_


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00bad bytes \xe9 word",
        b"\xef\xbb\xbf# BOM word",
        b"---\n: : :\n\t- [\n---\nword",
        b"---\na: &a [*a]\n---\nword",
        b"\x00\x01\x02 word \x00",
        "# " + "x" * 5000 + "\n\nword",
        "word\r\n\r\n# Head\r\n",
        "word" + "\n".join(f"# Heading {number}" for number in range(10_000)),
        "[[" * 3000 + " word",
        "> " * 1000 + "word",
        "---\ntitle: 2024-01-01\nid: 5\ntags: {a: b}\n---\nword",
        "w" * 200_000 + " word",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_odd_files_are_indexed_like_others(base: MakeBase, content: str | bytes) -> None:
    made = base({"odd.md": content, "good.md": "# Good\n\nword\n"})
    assert made.listed() == ["good.md", "odd.md"]
    assert "good.md" in made.found("word")
    assert ("odd.md" in made.found("word")) == bool(content)
    made.index.update([made.write("odd.md", b"more " + (content if isinstance(content, bytes) else content.encode()))])
    assert "good.md" in made.found("word")


@PERMISSIONS
def test_a_file_that_cannot_be_read_is_reported_and_the_rest_is_served(base: MakeBase) -> None:
    made = base({"good.md": "# Good", "bad.md": "# Bad"})
    (made.folder / "bad.md").chmod(0)
    with permissions_hold():
        report = made.index.sync()
    assert [path for path, _ in report.unreadable] == ["bad.md"]


@PERMISSIONS
@pytest.mark.parametrize("count", [1, MAX_SMALL_UPDATE + 1])
def test_documents_of_a_folder_that_cannot_be_opened_stay_as_they_were(base: MakeBase, count: int) -> None:
    paths = [f"shut/n{number:03}.md" for number in range(count)]
    made = base({})
    made.write_settled("open.md", "# Open\n\n[[n000]]\n")
    for path in paths:
        made.write_settled(path, "# Shut\n\ntide\n")
    made.index.sync()
    generation = made.index.generation
    (made.folder / "shut").chmod(0)
    try:
        with permissions_hold():
            report = made.index.sync()
            made.index.update([Address(paths[0])])
    finally:
        (made.folder / "shut").chmod(0o755)
    assert [path for path, _ in report.unreadable] == ["shut", *paths]
    assert (report.removed, made.index.generation) == (0, generation)
    assert made.listed() == ["open.md", *paths]
    assert made.index.search(SearchQuery(text="tide")).total == count
    assert [link.target for link in made.index.links_from(Address("open.md"))] == [Address(paths[0])]
    assert made.index.sync() == SyncReport()


@PERMISSIONS
def test_links_to_files_of_a_folder_that_cannot_be_opened_lead_there_still(base: MakeBase) -> None:
    made = base({"shut/plan.png": b"x", "a.md": "# A\n\n![[plan.png]]\n"})
    assert [link.target for link in made.index.links_from(Address("a.md"))] == [Address("shut/plan.png")]
    (made.folder / "shut").chmod(0)
    try:
        with permissions_hold():
            made.index.sync()
            made.update("a.md", "# A\n\nAgain ![[plan.png]]\n")
    finally:
        (made.folder / "shut").chmod(0o755)
    assert [link.target for link in made.index.links_from(Address("a.md"))] == [Address("shut/plan.png")]


def test_findings_are_listed_by_path(base: MakeBase) -> None:
    made = base({"b.md": b"\xff bad", "a.md": "---\n[\n---\n", "c.md": "# Good"})
    assert [(record.address.path, record.findings[0].rule) for record in made.index.findings()] == [
        ("a.md", "bad_yaml"),
        ("b.md", "not_utf8"),
    ]


def test_documents_are_counted(base: MakeBase) -> None:
    made = base({"a.md": "---\ntype: note\ntags: [x]\n---\n# A\n\n[[b]]\n\n## Part\n", "b.md": "# B\n"})
    counts = made.index.counts()
    assert (counts.documents, counts.links, counts.tags) == (2, 1, 1)
    assert counts.types == (("", 1), ("note", 1))


def test_a_record_is_found_by_path_and_by_id(base: MakeBase) -> None:
    made = base({"a.md": "---\nid: same\n---\n", "b.md": "---\nid: same\n---\n", "c.md": "# C"})
    assert [record.address.path for record in made.index.by_id("same")] == ["a.md", "b.md"]
    assert made.index.by_id("SAME") == []
    assert [record.address.path for record in made.index.by_id("c")] == ["c.md"]
    assert made.index.record(Address("none.md")) is None


def test_documents_of_one_id_are_named_by_their_paths(base: MakeBase) -> None:
    made = base({"a.md": "---\nid: same\n---\nword", "b.md": "---\nid: same\n---\nword", "c.md": "# C\n\nword"})

    def named() -> list[list[str]]:
        listed = [record.reference for record in made.index.list(ListQuery()).records]
        hits = made.index.search(SearchQuery(text="word")).hits
        return [listed, sorted(hit.record.reference for hit in hits)]

    assert named() == [["a.md", "b.md", "c"]] * 2
    made.update("b.md", "---\nid: other\n---\nword")
    assert named() == [["same", "other", "c"], ["c", "other", "same"]]
    made.update("c.md", "---\nid: same\n---\nword")
    assert named() == [["a.md", "other", "c.md"], ["a.md", "c.md", "other"]]


def test_an_unknown_document_names_the_nearest(base: MakeBase) -> None:
    made = base({"guide.md": "# Guide"})
    with pytest.raises(NotFoundError) as caught:
        made.index.document(Address("guid.md"))
    assert caught.value.context["nearest"] == ["guide"]


def test_reads_wait_for_the_first_sync_and_say_how_far_it_is(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A"}) as made:
        other = made.another()
        with pytest.raises(IndexingError) as caught:
            other.wait_ready(0.01)
        assert set(caught.value.context) == {"done", "total"}
        thread = threading.Thread(target=other.sync)
        thread.start()
        other.wait_ready(20)
        thread.join()
        other.close()


def test_dates_come_from_the_frontmatter_else_the_history_else_the_file(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "base")
    repo.path.mkdir()
    repo.git("init", "--quiet")
    repo.git("config", "user.name", "T")
    repo.git("config", "user.email", "t@example.org")
    for day, content in (("01", "one"), ("09", "two")):
        repo.write("old.md", content)
        repo.write("given.md", f"---\ncreated: 2001-01-01\n---\n{content}")
        repo.git("add", "--all")
        repo.git("commit", "--quiet", "--message", day, f"--date=2020-05-{day}T12:00:00+0000")
    with Indexed(tmp_path, {}) as made:
        made.write_settled("new.md", "not committed", 3600 * 24 * 365)
        made.index.sync()
        by_date = made.listed(Filter(updated_from="2020-05-09", updated_to="2020-05-09"))
        assert by_date == ["given.md", "old.md"]
        record = made.index.record(Address("old.md"))
        assert record is not None
        assert (record.created[:10], record.updated[:10]) == ("2020-05-01", "2020-05-09")
        assert made.listed(Filter(created_to="2001-12-31")) == ["given.md"]
        assert made.listed(sort="updated")[-1] == "new.md"

        made.update("old.md", "three")
        assert made.listed(sort="updated")[-1] == "old.md"
        record = made.index.record(Address("old.md"))
        assert record is not None
        assert record.created[:10] == "2020-05-01"

        repo.git("add", "--all")
        repo.git("commit", "--quiet", "--message", "three", "--date=2030-01-01T00:00:00+0000")
        made.index.sync()
        assert eventually(lambda: made.listed(Filter(updated_from="2030-01-01")) == ["new.md", "old.md"])


def test_searching_by_history_dates_waits_for_the_history(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "word"}) as made:
        year = str(2000 + 0)
        assert made.found("word", Filter(created_from=f"{year}-01-01")) == ["a.md"]
        assert made.index.list(ListQuery(filter=Filter(updated_to="1999-01-01"))).total == 0


@pytest.mark.parametrize("line_ends", ["false", "true"])
def test_text_that_no_commit_has_is_dated_by_its_file_in_a_new_index_too(tmp_path: Path, line_ends: str) -> None:
    repo = GitRepo(tmp_path / "base")
    repo.path.mkdir()
    for command in (["init", "-q"], ["config", "user.name", "T"], ["config", "user.email", "t@example.org"]):
        repo.git(*command)
    repo.git("config", "core.autocrlf", line_ends)
    for path in ("same.md", "edited.md"):
        repo.write(path, "# Page\r\n" if line_ends == "true" else "# Page\n")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message", "one", "--date=2020-05-01T12:00:00+0000")
    with Indexed(tmp_path) as made:
        made.write_settled("edited.md", "# Other\n", 3600 * 24 * 365)
        fresh = open_index(open_store(made.folder, commit="manual", state_dir=made.state), tmp_path / "fresh")
        for index in (made.index, fresh):
            index.sync()
            page = index.list(ListQuery(filter=Filter(updated_from="2020-05-01", updated_to="2020-05-01")))
            assert [record.address.path for record in page.records] == ["same.md"]
        fresh.close()


@pytest.mark.parametrize("others", [0, MAX_SMALL_UPDATE])
def test_a_large_file_and_many_files_replace_a_text_of_which_only_the_deletion_waits(
    base: MakeBase, others: int
) -> None:
    made = base({"a.md": "# A\n\nzebra\n"} | {f"{number}.md": "# Other" for number in range(20)})
    (made.folder / "a.md").unlink()
    made.index.update([Address("a.md")], 60)
    rest = "" if others else "word " * (ingestion.LARGE_FILE // 5)
    names = ["a.md", *(f"new{number}.md" for number in range(others))]
    for word, gone in (("giraffe", "zebra"), ("lion", "giraffe")):
        written = [made.write(name, f"# A\n\n{word if name == 'a.md' else ''} {rest}\n") for name in names]
        made.index.update(written, 60)
        assert (made.found(word), made.found(gone)) == (["a.md"], [])
