"""Crafted `.git` folders: each file and folder of a repository, and everything that could stand in its place.

`make_ground` makes a home folder with a repository that serves every toolset, and things beside it that nobody may
touch. A program that is run leaves a file `ran` in the home.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha1, sha256
from pathlib import Path

from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service.project_store import IDENTITY
from hostile import CANARY
from support import GitRepo, new_repo

SERVED = "kb"
"""The repository's name in the home."""
STRANGER = 12345
"""A user who is somebody else."""
HUGE = 1 << 40
NOISE_BYTES = 16_384
"""Bytes of text in an object that compresses to more than half its size, so that a truncated one fills several buffers.
"""
MANY = 400
"""Files in the root folder, so that its tree is several kB of identifiers."""
PRECIOUS = "export A=1\n"

Craft = Callable[["Ground"], None]


@dataclass(frozen=True, slots=True)
class Ground:
    """A home with the repository that is served, and what may not be touched."""

    home: Path

    @property
    def repo(self) -> GitRepo:
        """The served repository."""
        return GitRepo(self.home / SERVED)

    @property
    def gitdir(self) -> Path:
        """The repository's own folder."""
        return self.repo.path / ".git"

    @property
    def head(self) -> str:
        """The id of its current commit."""
        return (self.home / "head").read_text()

    def state(self) -> dict[str, tuple[object, ...]]:
        """Kind, times and content of everything in the home except the served repository."""
        state: dict[str, tuple[object, ...]] = {}
        for path in (self.home, *self.home.rglob("*")):
            if path.is_relative_to(self.repo.path):
                continue
            status = path.lstat()
            facts: tuple[object, ...] = status.st_mode, status.st_mtime_ns, status.st_size
            if stat.S_ISREG(status.st_mode):
                facts = *facts, sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(status.st_mode):
                facts = *facts, os.readlink(path)  # noqa: PTH115 - as the system gives it
            state[str(path.relative_to(self.home))] = facts
        return state


@dataclass(frozen=True, slots=True)
class Case:
    """One way to craft the repository."""

    name: str
    craft: Craft


def make_ground(place: Path) -> Ground:
    """The home before anything is crafted; copies of it are made for each case."""
    home = place / "home"
    home.mkdir(parents=True)
    for name in (".bashrc", "outside", ".gitconfig-not-read"):
        (home / name).write_text(PRECIOUS)
    (home / "private.md").write_text(CANARY)
    (home / "folder").mkdir()
    os.mkfifo(home / "pipe")
    new_repo(home / "victim", {"a.md": f"# {CANARY}\n", "b.md": "# B\n"})
    evil = home / "evil.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(evil)], check=True, timeout=60)
    subprocess.run(["git", "init", "--quiet", "--bare", str(place / "named.git")], check=True, timeout=60)
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        _program(evil / "hooks" / name, home)
    _program(home / "program", home)
    _begin_store(home)
    return Ground(home)


def copied(ground: Ground, place: Path) -> Ground:
    """The ground anew in another place, hard links and pipes with it."""
    subprocess.run(["cp", "-a", str(ground.home.parent), str(place)], check=True, timeout=60)
    for hook in (place / "home").rglob("hooks/*"):
        hook.write_text(_script(place / "home"))
    (place / "home" / "program").write_text(_script(place / "home"))
    return Ground(place / "home")


def _begin_store(home: Path) -> None:
    repo = GitRepo(home / SERVED)
    opened = open_project_store(repo.path, home.parent / "begin", IDENTITY)
    opened.origin.close()
    opened.activity.close()
    with (repo.path / ".git/config").open("a") as configuration:
        configuration.write("[user]\n\tname = Test Writer\n\temail = writer@example.org\n")
    many = {f"file-{number}.txt": f"{number}\n" for number in range(MANY)}
    repo.commit(f"Files\n\n{_noisy('files')}", **many, **{"large.txt": _noisy("large")})
    repo.git("repack", "-a", "-d", "--quiet")
    text = f"---\nid: a\ntype: note\ntitle: A\n---\n\n# A\n\n[[b]] text\n\n{_noisy('a')}"
    files = {"a.md": text, "b.md": "# B\n\nmore text\n", "notes/c.md": "# C\n\n[[a]]\n"}
    (repo.path / "projects/app").mkdir(parents=True)
    repo.commit(f"Pages\n\n{_noisy('pages')}", **files, **{"projects/app/main.md": "# App\n\n## One\n\ntext\n"})
    repo.write("new text", "# New\n")
    for name in ("pre-commit", "post-commit", "commit-msg", "reference-transaction", "pre-push", "post-index-change"):
        _program(repo.path / ".git/hooks" / name, home)
    repo.write(".git/info/exclude", "new text\nactivity.log\n")
    (home / "head").write_text(repo.git("rev-parse", "HEAD"))
    repo.git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/commonplace/synced", "HEAD")
    shutil.rmtree(home.parent / "begin", ignore_errors=True)


def _noisy(seed: str) -> str:
    """Lines of hexadecimal noise, as text."""
    return random.Random(seed).randbytes(NOISE_BYTES // 2).hex("\n", 32) + "\n"


def _program(file: Path, home: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(_script(home))
    file.chmod(0o755)


def _script(home: Path) -> str:
    return f"#!/bin/sh\ntouch {home}/ran\n"


# Files and folders of a repository, and what can lie in their place.

FILES = (
    "HEAD", "index", "config", "config.worktree", "packed-refs", "refs/heads/main", "refs/remotes/origin/main",
    "refs/commonplace/synced", "logs/HEAD", "logs/refs/heads/main", "info/exclude", "info/attributes", "info/grafts",
    "commondir", "gitdir", "objects/info/alternates", "objects/info/commit-graph", "objects/pack/pack-x.idx",
    "objects/pack/multi-pack-index", "shallow", "commonplace.journal", "commonplace.lock", "MERGE_HEAD", "{commit}",
    "{tree}", "{blob}", "{pack}", "{pack index}",
)  # fmt: skip
FOLDERS = (
    "", "objects", "objects/pack", "objects/info", "objects/{first}", "objects/every", "refs", "refs/heads",
    "refs/remotes", "refs/remotes/origin", "refs/commonplace", "logs", "logs/refs", "logs/refs/heads", "info", "hooks",
)  # fmt: skip


def _link(target: str, ground: Ground, file: Path) -> None:
    cleared(file).symlink_to(target.format(home=ground.home, up=_up(ground, file)))


def _twin(ground: Ground, file: Path) -> None:
    """Another repository's file of the same name, as a link."""
    cleared(file).symlink_to(ground.home / "victim/.git" / file.relative_to(ground.gitdir))


def _hard(ground: Ground, file: Path) -> None:
    cleared(file).hardlink_to(ground.home / "outside")


def _pipe(ground: Ground, file: Path) -> None:
    del ground
    os.mkfifo(cleared(file))


def _device(ground: Ground, file: Path) -> None:
    del ground
    cleared(file)
    try:
        os.mknod(file, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        file.symlink_to("/dev/zero")


def _huge(ground: Ground, file: Path) -> None:
    del ground
    with cleared(file).open("wb") as opened:
        opened.truncate(HUGE)


def _cut(ground: Ground, file: Path) -> None:
    del ground
    content = file.read_bytes() if file.is_file() else b"ref: refs"
    cleared(file).write_bytes(content[: len(content) // 2])


def _noise(ground: Ground, file: Path) -> None:
    del ground
    cleared(file).write_bytes(random.Random(file.name).randbytes(3000))


def _empty(ground: Ground, file: Path) -> None:
    del ground
    cleared(file).write_bytes(b"")


def _folder(ground: Ground, file: Path) -> None:
    del ground
    (cleared(file) / "inner").mkdir(parents=True)


def _missing(ground: Ground, file: Path) -> None:
    del ground
    cleared(file)


def _stranger(ground: Ground, file: Path) -> None:
    """Another user's, where this one may give files away; else one that may not be read."""
    del ground
    if not file.exists():
        cleared(file).write_text("x\n")
    try:
        os.chown(file, STRANGER, STRANGER)
    except PermissionError:
        file.chmod(0)


KINDS: dict[str, Callable[[Ground, Path], None]] = {
    "absolute link": partial(_link, "{home}/outside"),
    "link up": partial(_link, "{up}/outside"),
    "link to nothing": partial(_link, "{home}/made-by-mistake"),
    "link to a device": partial(_link, "/dev/zero"),
    "link to a pipe": partial(_link, "{home}/pipe"),
    "twin": _twin,
    "hard link": _hard,
    "pipe": _pipe,
    "device": _device,
    "huge": _huge,
    "cut": _cut,
    "noise": _noise,
    "empty": _empty,
    "folder": _folder,
    "missing": _missing,
    "stranger's": _stranger,
}
FOLDER_KINDS: dict[str, Callable[[Ground, Path], None]] = {
    "absolute link": partial(_link, "{home}/folder"),
    "link up": partial(_link, "{up}/folder"),
    **{name: KINDS[name] for name in ("twin", "pipe", "empty", "missing", "stranger's")},
}


def cleared(file: Path) -> Path:
    """The path itself, with nothing there and folders above it."""
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _up(ground: Ground, file: Path) -> str:
    return "/".join([".."] * (len(file.relative_to(ground.home).parts) - 1))


def _replace(name: str, kind: Callable[[Ground, Path], None], ground: Ground) -> None:
    """Put something in the place of a file or folder; `every` stands for every folder of objects at once."""
    head = ground.head
    if name == "objects/every":
        for number in range(256):
            folder = ground.gitdir / "objects" / f"{number:02x}"
            if not folder.exists():
                kind(ground, folder)
        return
    (pack,) = (ground.gitdir / "objects/pack").glob("*.pack")
    named = {
        "commit": object_file(head),
        "tree": object_file(ground.repo.git("rev-parse", "HEAD^{tree}")),
        "blob": object_file(ground.repo.git("rev-parse", "HEAD:a.md")),
        "pack": f"objects/pack/{pack.name}",
        "pack index": f"objects/pack/{pack.with_suffix('.idx').name}",
        "first": head[:2],
    }
    path = name.format(**named)
    kind(ground, ground.gitdir / path if path else ground.gitdir)


def object_file(identifier: str) -> str:
    return f"objects/{identifier[:2]}/{identifier[2:]}"


def file_cases() -> Iterator[Case]:
    """Each file and folder, and each thing in its place."""
    for file in FILES:
        for kind, act in KINDS.items():
            yield Case(f"{file}: {kind}", partial(_replace, file, act))
    for folder in FOLDERS:
        for kind, act in FOLDER_KINDS.items():
            yield Case(f"{folder or '.git'}/: {kind}", partial(_replace, folder, act))
    for place in ("", ".git"):
        yield Case(f"another owner of {place or 'the work tree'}", partial(_owned, place))


def _owned(place: str, ground: Ground) -> None:
    _stranger(ground, ground.repo.path / place)


# What costs too much: patterns, trees and objects that a few bytes make large.

STARS = "*a" * 40 + "b\n"
"""A pattern that takes a matcher that goes back at each star as many steps as there are atoms."""
LONG = "a" * 200
WORK_FILES = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".commonplaceignore", "notes/.gitattributes")


def _patterns(file: str, line: str, ground: Ground) -> None:
    for name in (LONG, f"notes/{LONG}"):
        ground.repo.write(f"{name}.md", "# Long\n")
    (ground.repo.path / file).write_text(line * 50)


def _configured_patterns(setting: str, ground: Ground) -> None:
    _patterns(".git/patterns", STARS, ground)
    ground.repo.git("config", setting, str(ground.gitdir / "patterns"))


def _in_work_tree(file: str, kind: Callable[[Ground, Path], None], ground: Ground) -> None:
    kind(ground, ground.repo.path / file)


def _object(ground: Ground, kind: str, content: bytes) -> str:
    raw = b"%s %d\0%s" % (kind.encode(), len(content), content)
    identifier = sha1(raw, usedforsecurity=False).hexdigest()
    file = ground.gitdir / object_file(identifier)
    file.parent.mkdir(exist_ok=True)
    if not file.exists():
        file.write_bytes(zlib.compress(raw))
    return identifier


def _committed(tree: str, ground: Ground, message: str = "Odd") -> None:
    """A commit with this tree on top of the last one, where HEAD and the remote's branch point to."""
    who = b"a <a@example.org> 1 +0000"
    parts = tree.encode(), ground.head.encode(), who, who, message.encode()
    commit = _object(ground, "commit", b"tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s\n" % parts)
    for ref in ("refs/heads/main", "refs/remotes/origin/main", "refs/commonplace/synced"):
        (ground.gitdir / ref).write_text(f"{commit}\n")


def _nested(depth: int, breadth: int, ground: Ground) -> None:
    """A tree of so many levels, in each of which all entries name the one below: `breadth ** depth` files."""
    blob = bytes.fromhex(ground.repo.git("rev-parse", "HEAD:a.md"))
    tree = _object(ground, "tree", b"100644 a.md\0" + blob)
    for _ in range(depth):
        names = sorted(b"d%d" % number for number in range(breadth))
        tree = _object(ground, "tree", b"".join(b"40000 %s\0%s" % (name, bytes.fromhex(tree)) for name in names))
    root = ground.repo.git("rev-parse", "HEAD^{tree}")
    before = subprocess.run(
        ["git", "cat-file", "tree", root], cwd=ground.repo.path, capture_output=True, check=True, timeout=60
    ).stdout
    _committed(_object(ground, "tree", before + b"40000 zzz\0" + bytes.fromhex(tree)), ground)


def exhausting_cases() -> Iterator[Case]:
    """Files that take a reader without bounds longer than anybody waits."""
    for file in (".gitignore", ".gitattributes", ".commonplaceignore", ".git/info/exclude", ".git/info/attributes"):
        line = STARS.replace("\n", " text\n") if "attributes" in file else STARS
        yield Case(f"costly patterns in {file}", partial(_patterns, file, line))
    for setting in ("core.excludesFile", "core.attributesFile"):
        yield Case(f"costly patterns in {setting}", partial(_configured_patterns, setting))
    for file in WORK_FILES:
        for kind in ("pipe", "link to a pipe", "link to a device"):
            yield Case(f"{file} in the work tree: {kind}", partial(_in_work_tree, file, KINDS[kind]))
    yield Case("a tree of 10^12 files", partial(_nested, 12, 10))
    yield Case("a tree of 2,000 levels", partial(_nested, 2000, 1))
