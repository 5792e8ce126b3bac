"""Ignore files, attributes, line ends and changes are what Git says of the same work tree, in bounded time."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from commonplace.domain.errors import GitError
from commonplace.domain.revisions import revision_of
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import pattern_file
from commonplace.store.git.worktree.attributes import attributes_of
from commonplace.store.git.worktree.changes import changed_files
from commonplace.store.git.worktree.filters import stored_form
from commonplace.store.git.worktree.ignored import GitIgnoreRules
from hostile.gitdirs import LONG, STARS
from support import Amount, GitRepo, new_repo

PARTS = ("a", "b", "ab", "a.md", "b.txt", "x y", "éa")
PATTERNS = (
    "a", "*.md", "b/", "/a", "a/b", "**/a", "a/**", "a/**/b", "*b*", "?", "[ab]", "[!a]*", "!a.md", "!b", "x\\ y",
    "\\!a",    "ab/*", "**", "*/a.md", "éa", "a*/", "# no", "", "!*.txt", "[a-b].md", "b/**/a.md",
)  # fmt: skip
ATTRIBUTES = ("text", "-text", "!text", "text=auto", "binary", "eol=lf", "mine=1", "macro", "ident", "-ident", "!mine")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/git").mkdir(parents=True)
    return new_repo(tmp_path / "base", {"z.md": "# Z\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def asked(repo: GitRepo, *command: str, paths: list[str]) -> list[str]:
    """What Git says of paths that it reads from standard input, each field ended by NUL."""
    given = "\0".join(paths).encode()
    done = subprocess.run(["git", *command], cwd=repo.path, input=given, capture_output=True, check=False, timeout=60)
    assert done.returncode in {0, 1}, done.stderr
    return os.fsdecode(done.stdout).split("\0")[:-1]


def some_paths(chance: random.Random) -> list[str]:
    return sorted({"/".join(chance.choices(PARTS, k=chance.randint(1, 4))) for _ in range(40)})


def test_a_path_is_ignored_if_git_ignores_it(repo: GitRepo, tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(1)
    places = [repo.path / name for name in (".gitignore", "a/.gitignore", "a/b/.gitignore", ".git/info/exclude")]
    for _ in range(amount(25, 500)):
        for file in [*places, tmp_path / "config/git/ignore"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(chance.choices(PATTERNS, k=chance.randint(0, 4))) + "\n")
        paths = some_paths(chance)
        rules = GitIgnoreRules(opened(repo))
        told = set(asked(repo, "check-ignore", "-z", "--stdin", "--no-index", paths=paths))
        assert {path for path in paths if rules.ignores(path, is_folder=(repo.path / path).is_dir())} == told, [
            file.read_text() for file in places
        ]


def test_a_path_has_the_attributes_that_git_gives_it(repo: GitRepo, tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(2)
    places = [repo.path / name for name in (".gitattributes", "a/.gitattributes", "a/b/.gitattributes")]
    places += [repo.path / ".git/info/attributes", tmp_path / "config/git/attributes"]
    names = ("text", "eol", "mine", "ident", "diff", "merge", "macro", "binary", "crlf")
    for _ in range(amount(25, 500)):
        for file in places:
            file.parent.mkdir(parents=True, exist_ok=True)
            patterns = [one for one in PATTERNS if one and not one.startswith(("!", "#"))]
            lines = [
                f"{chance.choice((one, f'{chr(34)}{one}{chr(34)}')) if chr(92) not in one and ' ' not in one else 'a'} "
                + " ".join(chance.choices(ATTRIBUTES, k=chance.randint(1, 3)))
                for one in chance.choices(patterns, k=chance.randint(0, 4))
            ]
            file.write_text("\n".join(["[attr]macro mine=macro -ident", *lines]) + "\n")
        paths, found = some_paths(chance), opened(repo)
        fields = asked(repo, "check-attr", "-z", "--stdin", *names, paths=paths)
        told: dict[str, dict[str, bool | str]] = {path: {} for path in paths}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            if value != "unspecified":
                told[path][name] = {"set": True, "unset": False}.get(value, value)
        for path in paths:
            assert attributes_of(found, found.handle.index, path) == told[path], (path, [f.read_text() for f in places])


CONTENTS = (
    b"a\r\nb\r\n", b"a\nb\r\n", b"a\rb\r\n", b"\0\r\n", b"", b"x$Id: 1 2$y\r\n", b"$Id$ $Id:\n$ $Id: a$",
    b"\x01\x02\r\n" * 9,
    b"text " * 99 + b"\x01\r\n", b"a\r\n\x1a", b"\xef\xbb\xbf\xc3\xa9\r\n",
)  # fmt: skip


@pytest.mark.parametrize("autocrlf", ["false", "true", "input"])
@pytest.mark.parametrize(
    "line", ["", "text", "-text", "text=auto", "eol=lf", "eol=crlf", "text=auto eol=crlf", "binary", "crlf", "-crlf",
             "crlf=input", "ident", "text ident", "text=odd", "!text"],
)  # fmt: skip
def test_git_stores_the_same_bytes(repo: GitRepo, line: str, autocrlf: str) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("config", "core.safecrlf", "false")
    repo.write(".gitattributes", f"*.md {line}\n" if line else "")
    found = opened(repo)
    for number, content in enumerate(CONTENTS):
        repo.write(f"{number}.md", content)
    ids = repo.git("hash-object", *(f"{number}.md" for number in range(len(CONTENTS)))).splitlines()
    mine = [revision_of(stored_form(found, f"{number}.md", content)) for number, content in enumerate(CONTENTS)]
    assert mine == ids


def test_line_ends_that_are_staged_are_kept_and_attributes_that_are_only_staged_count(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.txt -text\n")
    repo.write("crlf.md", b"a\r\n")
    repo.commit()
    repo.git("config", "core.autocrlf", "true")
    (repo.path / ".gitattributes").unlink()
    found = opened(repo)
    assert stored_form(found, "crlf.md", b"a\r\nb\r\n") == b"a\r\nb\r\n"
    assert stored_form(found, "new.md", b"a\r\n") == b"a\n"
    assert stored_form(found, "new.txt", b"a\r\n") == b"a\r\n"


def change(repo: GitRepo, chance: random.Random) -> None:
    """One change at random to the work tree or the index."""
    path = chance.choice(("a.md", "b.md", "d/c.md", "d/e/f.md", "new.md", "d/new.md", "skip.md", "run.md"))
    file = repo.path / path
    match chance.randrange(7):
        case 0:
            file.unlink(missing_ok=True)
        case 1 | 2:
            repo.write(path, chance.choice(("one\n", "two\n", "a\n")))
        case 3 if file.exists():
            file.chmod(chance.choice((0o644, 0o755)))
        case 4:
            repo.git("add", "--all", "--force", "--", ".")
        case 5:
            repo.git("rm", "--quiet", "--cached", "--ignore-unmatch", "--force", "--", path)
        case _:
            repo.write(".gitignore", chance.choice(("skip.md\n", "d/\n", "*.md\n!a.md\n", "")))


def test_the_changed_files_are_those_that_git_names(repo: GitRepo, amount: Amount) -> None:
    chance = random.Random(3)
    repo.commit(**dict.fromkeys(("a.md", "b.md", "d/c.md", "d/e/f.md"), "a\n"))
    new_repo(repo.path / "inner", {"i.md": "# I\n"})
    os.mkfifo(repo.path / "pipe.md")
    for _ in range(amount(60, 1_000)):
        change(repo, chance)
        told = repo.git("status", "--porcelain", "--untracked-files=all", "--no-renames", "-z").split("\0")
        lines: dict[str, str] = {}
        for line in told:
            if line and line[3:].rstrip("/") != "inner":
                lines[line[3:]] = lines.get(line[3:], "") + line[:2]
        found = changed_files(opened(repo))
        assert {path: shown(int(flags)) for path, flags in found.items()} == lines
        below = changed_files(opened(repo), "d/", lambda path: path.endswith("c.md"))
        assert set(below) == {path for path in lines if path.startswith("d/") and path.endswith("c.md")}


def shown(flags: int) -> str:
    if flags == 1 << 7:
        return "??"
    staged = {1: "A", 2: "M", 4: "D"}.get(flags & 7, " ")
    if flags & 1 << 7:
        return f"{staged} ??"
    return staged + {1 << 8: "M", 1 << 9: "D"}.get(flags & 3 << 8, " ")


def test_costly_patterns_are_matched_in_little_time(repo: GitRepo) -> None:
    repo.write(".gitignore", STARS * 50)
    repo.write(".gitattributes", STARS.replace("\n", " text\n") * 50)
    found = opened(repo)
    assert not GitIgnoreRules(found).ignores(f"{LONG}.md")
    assert not attributes_of(found, found.handle.index, f"{LONG}.md")
    repo.write(f"{LONG}.md", "a\r\n")
    assert set(changed_files(found)) == {".gitignore", ".gitattributes", f"{LONG}.md"}


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore"])
def test_a_pattern_file_that_is_no_regular_file_says_nothing_and_a_large_one_is_refused(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    os.mkfifo(repo.path / name)
    found = opened(repo)
    assert stored_form(found, "a.md", b"a\r\n") == b"a\r\n"
    assert not GitIgnoreRules(found).ignores("a.md")
    (repo.path / name).unlink()
    (repo.path / name).symlink_to("/dev/zero")
    assert stored_form(found, "a.md", b"a\r\n") == b"a\r\n"
    assert not GitIgnoreRules(found).ignores("a.md")
    (repo.path / name).unlink()
    repo.write(name, "a.md text\n" * 10)
    monkeypatch.setattr(pattern_file, "MAX_BYTES", 20)
    with pytest.raises(GitError, match="larger than 20 bytes"):
        _ = stored_form(found, "a.md", b"a\r\n"), GitIgnoreRules(found).ignores("a.md")
