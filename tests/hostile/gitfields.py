"""Crafted `.git` folders: each field of each file of a repository, and what it could say."""

from __future__ import annotations

import json
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from commonplace.domain.revisions import revision_of
from commonplace.store.git.index_file import IndexEntry, empty_index
from hostile.gitdirs import PRECIOUS, Case, Ground, cleared, exhausting_cases, file_cases, object_file

REFS = (
    "{home}/outside", "{home}/made-by-mistake", "../outside", "../../outside", "refs/../../../outside",
    "refs/heads/../../../../outside", "refs/heads/../../config", "refs/heads/../../hooks/post-commit", "config",
    "commonplace.journal", "refs/heads/a.lock", "refs/heads/-x", "refs/heads/$(touch {home}/ran)",
    "refs/heads/;touch {home}/ran", "refs/heads/a\tb", "refs/heads/a\x1b[31mb", "refs/heads/\u200d",
    "refs/heads/main/x",
    "refs/tags/x", "refs/heads/" + "x" * 300, "refs/heads/" + "x/" * 2000 + "x", "refs/heads/main", "HEAD", "", "\0",
)  # fmt: skip
PATHS = (
    "{home}/victim/.git", "../victim/.git", "{home}/victim", "{home}/outside", "{home}/folder", "/dev/zero",
    "{home}/pipe", "../../victim/.git", ".", "..", "{home}/victim/.git/objects", "x" * 5000, "\0", "{home}/nothing",
)  # fmt: skip
SETTINGS = (
    ("core.worktree", PATHS[:8]), ("include.path", ("{home}/outside", "/dev/zero", "{home}/pipe", "config")),
    ("includeIf.gitdir:/.path", ("{home}/pipe", "/dev/zero")), ("core.excludesFile", PATHS[3:7]),
    ("core.attributesFile", PATHS[3:7]), ("core.hooksPath", ("{home}/evil.git/hooks",)),
    ("core.fsmonitor", ("{home}/program",)), ("core.sshCommand", ("{home}/program",)),
    ("core.pager", ("{home}/program",)), ("core.editor", ("{home}/program",)), ("core.askPass", ("{home}/program",)),
    ("core.gitProxy", ("{home}/program",)), ("core.alternateRefsCommand", ("{home}/program",)),
    ("credential.helper", ("!{home}/program", "{home}/program")), ("gpg.program", ("{home}/program",)),
    ("commit.gpgSign", ("true",)), ("filter.x.clean", ("{home}/program",)), ("filter.x.process", ("{home}/program",)),
    ("diff.external", ("{home}/program",)), ("diff.x.textconv", ("{home}/program",)),
    ("merge.x.driver", ("{home}/program",)), ("alias.push", ("!{home}/program",)),
    ("url.{home}/evil.git.insteadOf", ("{named}",)), ("url.ext::{home}/program.insteadOf", ("{named}",)),
    ("protocol.ext.allow", ("always",)), ("http.proxy", ("{home}/program",)), ("http.cookieFile", ("{home}/outside",)),
    ("remote.origin.uploadpack", ("{home}/program",)), ("remote.origin.receivepack", ("{home}/program",)),
    ("remote.origin.vcs", ("ext",)), ("remote.origin.proxy", ("{home}/program",)),
    ("remote.origin.url", (
        "ext::{home}/program", "{home}/evil.git", "../evil.git", "file://{home}/evil.git", "/dev/zero", "{home}/pipe",
        "ssh://-oProxyCommand={home}/program/x", "-oProxyCommand={home}/program:x", "--upload-pack={home}/program",
        "fd::17", "git://127.0.0.1:1/x", "x\x1b[31m", "", "{home}/nothing",
    )),
    ("remote.-x.url", ("{home}/evil.git",)), ("remote.../x.url", ("{home}/evil.git",)),
    ("user.name", ("a;touch {home}/ran #b", "$(touch {home}/ran)", "x\n\tevil", "", "x" * 5000)),
    ("core.logAllRefUpdates", ("always",)), ("core.bare", ("true",)), ("core.repositoryformatversion", ("99", "x")),
    ("extensions.worktreeConfig", ("true",)), ("extensions.objectFormat", ("sha256",)),
    ("extensions.refStorage", ("reftable",)), ("extensions.partialClone", ("origin",)),
    ("core.sparseCheckout", ("true",)), ("core.bigFileThreshold", ("-1",)), ("core.abbrev", ("x",)),
    ("init.templateDir", ("{home}/evil.git",)), ("gc.auto", ("1",)), ("core.splitIndex", ("true",)),
)  # fmt: skip
FILES_OF_A_TREE = (
    "../outside", "{home}/outside", "../folder", ".git/config", ".git/hooks/post-commit", "a/../../outside",
)  # fmt: skip
TREE_NAMES = ("..", ".", ".git", ".GIT", "../outside", "a/../../outside", "git~1", "\u200d.git", "x" * 5000, "C:\\x")


def _text(file: str, form: str, value: str, ground: Ground) -> None:
    """A file that says just this."""
    path = cleared(ground.gitdir / file)
    path.write_text(form.format(value.format(home=ground.home), head=ground.head), "utf-8")


def _setting(name: str, value: str, ground: Ground) -> None:
    named = ground.home.parent / "named.git"
    paths = {"home": ground.home, "named": named}
    file = ground.gitdir / "config"
    settings = {"remote.origin.url": str(named), name.format(**paths): value.format(**paths)}
    for key, text in settings.items():
        subprocess.run(["git", "config", "--file", str(file), key, text], check=True, timeout=60, cwd=ground.home)
    (ground.gitdir / "info/attributes").write_text("* filter=x diff=x merge=x\n")


def _gitfile(value: str, ground: Ground) -> None:
    shutil.rmtree(ground.gitdir)
    ground.gitdir.write_text(f"gitdir: {value.format(home=ground.home)}\n", "utf-8")


def _journal(field: str, value: str, ground: Ground) -> None:
    """A journal with a right checksum, in which one field leads elsewhere."""
    path = value.format(home=ground.home)
    there, token, reference = revision_of(PRECIOUS.encode()), "a" * 12, "refs/heads/main"
    reported_values: dict[str, list[object]] = {
        "path": [token, [[path, "", there], ["none.md", "", "1" * 40]], [], "", "", []],
        "put": [token, [[path, there, revision_of(b"# New\n")]], [], reference, ground.head, [path]],
        "token": [path, [["a.md", "1" * 40, "2" * 40]], [], reference, "", []],
        "made": [token, [["none.md", "", "1" * 40]], [path], "", "", []],
        "reference": [token, [["none.md", "", "1" * 40]], [], path, ground.head, ["a.md"]],
        "commit": [token, [["none.md", "", "1" * 40]], [], reference, path, ["a.md"]],
    }
    pending = {path: ""} if field == "pending" else {}
    text = json.dumps([reported_values.get(field), pending]).encode()
    ground.repo.write(".git/commonplace.journal", b"%s %d %s" % (sha256(text).hexdigest().encode(), len(text), text))


def _index(name: str, ground: Ground) -> None:
    """An index with one more entry, as staged and not in the work tree."""
    entry = IndexEntry(ground.repo.git("rev-parse", "HEAD:a.md"), 0o100644, None)
    (ground.gitdir / "index").write_bytes(empty_index().changed({name.format(home=ground.home): entry}).raw)


def _tree(name: str, ground: Ground) -> None:
    """A commit with a file of this name, where HEAD, the remote's branch and what was synced point to."""
    blob = bytes.fromhex(ground.repo.git("rev-parse", "HEAD:a.md"))
    raw = b"100644 %s\0%s" % (name.encode(), blob)
    command = ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    done = subprocess.run(command, input=raw, capture_output=True, check=True, timeout=60, cwd=ground.repo.path)
    commit = ground.repo.git("commit-tree", done.stdout.decode().strip(), "-p", "HEAD", "-m", "Odd")
    for ref in ("refs/heads/main", "refs/remotes/origin/main", "refs/commonplace/synced"):
        (ground.gitdir / ref).write_text(f"{commit}\n")


def _said_sizes(size: int, ground: Ground) -> None:
    """The current commit is an object that says another size than it has."""
    file = ground.gitdir / object_file(ground.head)
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"commit %d\0tree x\n" % size))


def _ref_cases() -> Iterator[Case]:
    forms = {
        "HEAD": "ref: {}\n",
        "refs/heads/main": "ref: {}\n",
        "refs/remotes/origin/main": "ref: {}\n",
        "packed-refs": "# pack-refs with: peeled fully-peeled sorted\n{head} {}\n",
    }
    for value in REFS:
        for file, form in forms.items():
            yield Case(f"{file} says {value[:40]!r}", partial(_text, file, form, value))
        for field in ("token", "reference", "commit"):
            yield Case(f"journal {field} {value[:40]!r}", partial(_journal, field, value))


def _path_cases() -> Iterator[Case]:
    for value in PATHS:
        for file in ("commondir", "objects/info/alternates", "gitdir"):
            yield Case(f"{file} says {value[:40]!r}", partial(_text, file, "{}\n", value))
        yield Case(f".git says {value[:40]!r}", partial(_gitfile, value))
    for value in FILES_OF_A_TREE:
        for field in ("path", "put", "made", "pending"):
            yield Case(f"journal {field} {value!r}", partial(_journal, field, value))
        yield Case(f"index has {value!r}", partial(_index, value))
    for name in TREE_NAMES:
        yield Case(f"tree has {name[:40]!r}", partial(_tree, name))


def _setting_cases() -> Iterator[Case]:
    for name, values in SETTINGS:
        for value in values:
            yield Case(f"config {name} = {value[:40]!r}", partial(_setting, name, value))
    for size in (-1, 0, 7, 10**12, 10**30):
        yield Case(f"commit says {size} bytes", partial(_said_sizes, size))


CASES = (*file_cases(), *_ref_cases(), *_path_cases(), *_setting_cases(), *exhausting_cases())
