"""Bytes of an index are changed at random: it answers as a fresh one."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, NotFoundError
from commonplace.domain.query import SearchQuery
from commonplace.store import open_store
from indexed import Indexed, answers
from support import Amount, GitRepo, MakeRepo

FILES = {
    f"n{number:02}.md": f"---\ntype: guide\ntags: [t{number % 3}]\nstatus: current\n---\n"
    f"# N{number}\n\nthe text w{number}x shared [[n01]] "
    f"and [there](n{number - 1:02}.md#part)\n\n## Part\n\nmore v{number}v\n"
    for number in range(1, 18)
}
SHARED = SearchQuery(text="shared")
WRITTEN = "with a new time"
WORDS = ["shared", *(f"w{number}x" for number in range(1, 11)), "more"]


def damage(file: Path, others: list[Path], chance: random.Random) -> str:
    """Change a file as a disk, a copy that was cut off, or a mix-up would; its time mostly stays, as on a bad disk."""
    kind = chance.choice(("flip", "flip", "flip", "cut", "swap", "zeros"))
    status = file.stat()
    content = bytearray(file.read_bytes())
    at = chance.randrange(len(content))
    if kind == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "swap":
        content[:] = chance.choice(others).read_bytes()
    else:
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    file.write_bytes(content)
    if chance.random() < 0.1:
        return f"{kind} {WRITTEN}"
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return kind


@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("part", range(5))
@pytest.mark.sampled(5)
def test_a_damaged_index_answers_as_a_fresh_one(
    tmp_path: Path,
    part: int,
    amount: Amount,
    record_property: Callable[[str, object], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    seed = 20261129 + part
    chance = random.Random(seed)
    with Indexed(tmp_path, FILES) as base:
        expected = answers(base.index, WORDS)
        base.index.close()
        pristine = tmp_path / "pristine"
        base.cache.rename(pristine)
        files = [path.relative_to(pristine) for path in sorted(pristine.rglob("*")) if path.is_file()]
        filled = [path for path in files if (pristine / path).stat().st_size]
        endings: Counter[str] = Counter()
        for number in range(amount(24, 2_000)):
            shutil.copytree(pristine, base.cache)
            for seal in base.cache.rglob("seal.json"):
                os.utime(seal, (0, 0))  # last checked long ago
            file = chance.choice(filled)
            kind = damage(base.cache / file, [pristine / path for path in files], chance)
            caplog.clear()
            base.index = base.another()
            base.index.sync()
            if kind.endswith(WRITTEN) and not caplog.records:  # who wrote it last is not known
                assert {hit.record.address.path for hit in base.index.search(SHARED).hits} <= set(FILES)
            else:
                assert answers(base.index, WORDS) == expected, (number, kind, file.name)
            base.index.close()
            endings["rebuilt" if caplog.records else "harmless"] += 1
            shutil.rmtree(base.cache)
        base.index = base.another()
    assert endings["rebuilt"] > endings["harmless"]
    record_property("seed", seed)
    for ending, count in endings.items():
        record_property(ending, count)


def versions(repo: GitRepo) -> dict[tuple[str, str], bytes]:
    """The bytes of each page at each commit that has it."""
    commits = repo.git("rev-list", "HEAD").splitlines()
    return {
        (path, commit): repo.git("show", f"{commit}:{path}").encode()
        for commit in commits
        for path in repo.git("ls-tree", "-r", "--name-only", commit).splitlines()
    }


@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_repository_never_serves_other_bytes(
    git_repo: MakeRepo, tmp_path: Path, packed: bool, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(seed := 20261130 + packed)
    repo = git_repo("repo", {f"sub/p{page}.md": f"# P{page}\n\n{'text ' * 40}\n" for page in range(3)})
    for number in range(4):
        repo.commit(f"Change {number}", **{f"sub/p{number % 3}.md": f"# P\n\n{chance.random()}\n"})
    if packed:
        repo.git("gc", "-q")
    expected = {key: content + b"\n" for key, content in versions(repo).items()}
    endings: Counter[str] = Counter()
    files = [path.relative_to(repo.path) for path in sorted((repo.path / ".git/objects").rglob("*")) if path.is_file()]
    files.append(Path(".git/index"))
    for number in range(amount(20, 5_000)):
        copy = tmp_path / str(number)  # a place of its own: libgit2 shares open packs by their paths
        shutil.copytree(repo.path, copy)
        file = copy / chance.choice(files)
        file.chmod(0o644)
        damage(file, [repo.path / path for path in files], chance)
        history = open_store(copy, commit="auto", state_dir=tmp_path / "state").history
        for (path, commit), text in expected.items():
            with told(path, endings, may_be_gone=packed):
                assert history.read(Address(path), commit) == text, (number, file.name)
        for path in {path for path, _ in expected}:
            with told(path, endings):
                seen = [(commit.id, content) for commit, content in history.versions(Address(path))]
                assert seen == [(commit, expected[path, commit]) for commit, _ in seen], (number, file.name)
        shutil.rmtree(copy)
    assert endings["told"] > 0
    assert not endings["told without the page"]
    record_property("seed", seed)
    for ending, count in endings.items():
        record_property(ending, count)


@contextmanager
def told(path: str, endings: Counter[str], *, may_be_gone: bool = False) -> Generator[None]:
    """Count whether a read has its answer, or an error of Git that names the page."""
    try:
        yield
    except GitError as error:
        endings["told" if path in str(error) else "told without the page"] += 1
    except NotFoundError:
        assert may_be_gone  # a pack whose table lacks the commit
        endings["not found"] += 1
    else:
        endings["read"] += 1
