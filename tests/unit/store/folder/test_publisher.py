"""Commits by request, and pushing them to a remote."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import GitError, NotFoundError, ReadOnlyError
from commonplace.domain.ports import Repository, Store
from commonplace.domain.revisions import revision_of
from commonplace.store import git_command, open_store
from commonplace.store.folder import publisher
from support import GitRepo, MakeRepo

A, B, NEW = Address("a.md"), Address("b.md"), Address("sub/new.md")
MOST_SECONDS = 16.0
"""Maximum seconds of a push to a remote that does not answer, so that a call ends within 20 s."""


def opened(folder: Path) -> Store:
    """A store that leaves committing to requests."""
    return open_store(folder, commit="manual", state_dir=folder.parent / "state")


def repository(folder: Path) -> Repository:
    """The repository of a folder."""
    found_repository = opened(folder).repository
    assert found_repository is not None
    return found_repository


@pytest.fixture(params=["", "kb"])
def below(request: pytest.FixtureRequest) -> str:
    """Folder of the collection in its repository."""
    return str(request.param)


@pytest.fixture
def repo(git_repo: MakeRepo, below: str) -> GitRepo:
    """Two documents, and a file outside that is staged and one that is changed."""
    prefix = f"{below}/" if below else ""
    repo = git_repo("repo", {f"{prefix}a.md": "# A\n", f"{prefix}b.md": "# B\n", "out/x.txt": "1", "out/y.txt": "1"})
    if below:
        repo.write("out/x.txt", "staged")
        repo.git("add", "out/x.txt")
        repo.write("out/y.txt", "changed")
    return repo


def test_all_of_the_collections_changes_are_one_commit_and_nothing_else(repo: GitRepo, below: str) -> None:
    folder = repo.path / below
    GitRepo(folder).write("a.md", "# A2\n")
    GitRepo(folder).write("sub/new.md", "# New\n")
    GitRepo(folder).write(".hidden.md", "# Hidden\n")
    (folder / "b.md").unlink()
    receipt = repository(folder).commit(None, "All of it", author=Author("Ann", "ann@example.org"), sign_off=True)
    assert receipt.commit == repo.git("rev-parse", "HEAD")
    assert receipt.revisions == {A: revision_of(b"# A2\n"), NEW: revision_of(b"# New\n")}
    assert receipt.removed == (B,)
    expected = "Ann|All of it\n\nSigned-off-by: Test Writer <writer@example.org>"
    assert repo.git("log", "-1", "--format=%an|%B").strip() == expected
    prefix = f"{below}/" if below else ""
    assert repo.git("show", "--format=", "--name-only", "HEAD").splitlines() == [
        f"{prefix}a.md",
        f"{prefix}b.md",
        f"{prefix}sub/new.md",
    ]
    outside = ["M  out/x.txt", " M out/y.txt"] if below else []
    assert repo.git("status", "--porcelain").splitlines() == [*outside, f"?? {prefix}.hidden.md"]
    repo.git("fsck", "--strict")


def test_only_the_named_files_are_committed(repo: GitRepo, below: str) -> None:
    folder = repo.path / below
    for name in ("a.md", "b.md"):
        GitRepo(folder).write(name, "changed\n")
    receipt = repository(folder).commit([A], "One")
    assert receipt.revisions == {A: revision_of(b"changed\n")}
    assert f" M {below + '/' if below else ''}b.md" in repo.git("status", "--porcelain").splitlines()


def test_nothing_to_commit_says_so(repo: GitRepo, below: str) -> None:
    for addresses in (None, [A], []):
        with pytest.raises(GitError, match="nothing to commit"):
            repository(repo.path / below).commit(addresses, "None")
    with pytest.raises(NotFoundError):
        repository(repo.path / below).commit([Address("none.md")], "None")
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_a_folder_that_becomes_a_file_is_committed(repo: GitRepo, below: str) -> None:
    folder = repo.path / below
    repo.commit("Folder", **{str(Path(below) / "x.md/deep.md"): "x"})
    (folder / "x.md/deep.md").unlink()
    (folder / "x.md").rmdir()
    (folder / "x.md").write_text("a file now")
    receipt = repository(folder).commit(None, "File")
    assert receipt.removed == (Address("x.md/deep.md"),)
    prefix = f"{below}/" if below else ""
    assert not [line for line in repo.git("status", "--porcelain").splitlines() if f"{prefix}x.md" in line.split()[1:]]
    repo.git("fsck", "--strict")


def test_a_detached_head_is_refused(repo: GitRepo, below: str) -> None:
    repo.git("switch", "--quiet", "--detach")
    with pytest.raises(ReadOnlyError, match="no branch"):
        repository(repo.path / below).commit(None, "x")
    with pytest.raises(GitError, match="on no branch"):
        with_remote(repo).push()


def test_a_plain_folder_has_no_repository(tmp_path: Path) -> None:
    assert opened(tmp_path).repository is None


def with_remote(repo: GitRepo) -> Repository:
    """A repository with a bare `origin` beside it."""
    if "origin" not in repo.git("remote").split():
        GitRepo(repo.path.parent).git("init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
        repo.git("remote", "add", "origin", str(repo.path.parent / "origin.git"))
    return repository(repo.path)


@pytest.fixture
def single(git_repo: MakeRepo) -> GitRepo:
    """A repository with one commit."""
    return git_repo("repo", {"a.md": "# A\n"})


def test_a_push_publishes_the_current_branch(single: GitRepo) -> None:
    remote = with_remote(single)
    head = single.git("rev-parse", "HEAD")
    assert remote.push() == f"origin has it now: main at {head[:8]}"
    assert single.git("ls-remote", "origin", "main").split()[0] == head
    assert remote.push() == f"origin has it already: main at {head[:8]}"
    single.git("branch", "other/branch")
    assert remote.push("origin", "other/branch").startswith("origin has it now: other/branch")


def test_a_push_that_the_remote_is_ahead_of_is_rejected(single: GitRepo) -> None:
    remote = with_remote(single)
    remote.push()
    single.commit("Theirs", **{"a.md": "theirs"})
    remote.push()
    single.git("reset", "--quiet", "--hard", "HEAD~1")
    single.commit("Ours", **{"a.md": "ours"})
    with pytest.raises(GitError, match="commits that are not here") as caught:
        remote.push()
    assert caught.value.context["retryable"] == 0
    assert "Fetch" in caught.value.hint


@pytest.mark.parametrize(
    "name", ["none", "--upload-pack=touch x", "-o", "", "ext::sh -c true", "/etc", "https://u:p@h/x"]
)
def test_only_a_configured_remote_is_pushed_to(single: GitRepo, name: str) -> None:
    remote = with_remote(single)
    with pytest.raises(GitError, match="There is no remote") as caught:
        remote.push(name)
    assert "origin" in str(caught.value)
    assert "u:p" not in str(caught.value)


def test_an_error_names_some_remotes_of_many(single: GitRepo) -> None:
    with (single.path / ".git/config").open("a") as configuration:
        configuration.writelines(f'[remote "r{number}"]\n\turl = /none\n' for number in range(20_000))
    with pytest.raises(GitError, match=r"There is: r0, r1, .* and 19,980 more\.$") as caught:
        repository(single.path).push("none")
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize("branch", ["none", "--force", "-f", "main:other", "+main", "HEAD", "a b", "../x"])
def test_only_a_branch_that_exists_is_pushed(single: GitRepo, branch: str) -> None:
    with pytest.raises(GitError, match="no branch"):
        with_remote(single).push("origin", branch)


def test_a_remote_that_is_no_repository_is_told_without_its_path(single: GitRepo, tmp_path: Path) -> None:
    single.git("remote", "add", "gone", str(tmp_path / "gone.git"))
    with pytest.raises(GitError, match="not pushed to gone") as caught:
        repository(single.path).push("gone")
    assert str(tmp_path) not in str(caught.value)
    assert "get-url gone" in caught.value.hint


def test_a_remote_that_runs_a_command_is_refused(single: GitRepo, tmp_path: Path) -> None:
    single.git("remote", "add", "evil", f"ext::sh -c 'touch {tmp_path}/ran'")
    single.git("config", "protocol.ext.allow", "always")
    with pytest.raises(GitError, match="not allowed"):
        repository(single.path).push("evil")
    assert not (tmp_path / "ran").exists()


def test_the_headers_that_a_repository_is_configured_with_are_sent(single: GitRepo, locked_server: str) -> None:
    single.git("remote", "add", "origin", locked_server)
    single.git("config", f"http.{locked_server}.extraheader", "X-Token: from the repository")
    with pytest.raises(GitError):
        repository(single.path).push()
    assert "from the repository" in _Locked.tokens


class _Locked(BaseHTTPRequestHandler):
    """Wants credentials, whatever is asked."""

    tokens: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Refuse."""
        self.tokens.append(self.headers.get("X-Token", ""))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="wiki"')
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def locked_server() -> Iterator[str]:
    """An HTTP server on this machine that wants credentials."""
    server = HTTPServer(("127.0.0.1", 0), _Locked)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/wiki.git"
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


def test_missing_credentials_are_told_and_asked_of_nobody(single: GitRepo, locked_server: str, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    single.git("remote", "add", "origin", locked_server)
    single.git("config", "credential.helper", f"!touch {marker}")
    single.git("config", f"credential.{locked_server}.helper", f"!touch {marker}")
    single.git("config", "core.askPass", f"touch {marker}; echo")
    with pytest.raises(GitError) as caught:
        repository(single.path).push()
    assert "credentials" in caught.value.hint
    assert caught.value.context["retryable"] == 0
    assert not marker.exists()


def test_a_helper_of_the_users_own_configuration_is_asked(
    single: GitRepo, locked_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libgit2 reads the user's configuration where the test run has put an empty one; so it is written there."""
    import pygit2  # noqa: PLC0415
    from pygit2.enums import ConfigLevel  # noqa: PLC0415

    before = pygit2.settings.search_path[ConfigLevel.GLOBAL]
    marker = tmp_path / "asked"
    (tmp_path / ".gitconfig").write_text(f'[credential]\n\thelper = "!touch {marker};"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(tmp_path)
    try:
        single.git("remote", "add", "origin", locked_server)
        with pytest.raises(GitError):
            repository(single.path).push()
    finally:
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = before
    assert marker.exists()


def test_an_address_with_a_password_is_never_shown(single: GitRepo, locked_server: str) -> None:
    single.git("remote", "add", "origin", locked_server.replace("http://", "http://user:secret@"))
    with pytest.raises(GitError) as caught:
        repository(single.path).push()
    assert "secret" not in str(caught.value) + caught.value.hint


def test_a_remote_that_is_not_reached_can_be_tried_again(single: GitRepo) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        single.git("remote", "add", "origin", f"http://127.0.0.1:{taken.getsockname()[1]}/x.git")
    with pytest.raises(GitError) as caught:
        repository(single.path).push()
    assert caught.value.context["retryable"] == 1


def test_a_remote_that_never_answers_is_given_up(single: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert publisher.QUIET_SECONDS <= MOST_SECONDS
    monkeypatch.setattr("commonplace.store.folder.publisher.QUIET_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        single.git("remote", "add", "origin", f"http://127.0.0.1:{silent.getsockname()[1]}/x.git")
        said = r"^Whether origin has main is unknown: git push said nothing for 0\.5 seconds and was ended\.$"
        with pytest.raises(GitError, match=said) as caught:
            repository(single.path).push()
    assert caught.value.context["retryable"] == 1


@each_case(
    ("text", "expected"),
    [
        (
            "fatal: unable to access 'https://u:p@host/x.git/': 404",
            "fatal: unable to access 'https://host/x.git/': 404",
        ),
        ("fatal: '/home/u/x.git' does not", "fatal: '(path)' does not"),
        ("error: file:///home/u/x.git: no", "error: file://(path): no"),
        ("ssh://git:p@ss@host:22/a/b", "ssh://host:22/a/b"),
        ("x" * 400, "x" * 297 + "..."),
    ],
)
def test_credentials_and_paths_are_taken_out(text: str, expected: str) -> None:
    assert git_command.redacted(text) == expected


def test_a_failing_command_is_told_by_its_last_complaint(single: GitRepo) -> None:
    with pytest.raises(GitError, match="git rev-parse failed: fatal: Needed a single revision"):
        git_command.run_git(single.path, ["rev-parse", "--verify"], ["none"])
    assert git_command.run_git(single.path, ["rev-parse", "--verify"], ["HEAD"]).strip() == single.git(
        "rev-parse", "HEAD"
    )


def test_without_a_git_command_the_error_says_so(single: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(GitError, match="no git command"):
        git_command.run_git(single.path, ["status"])
