"""The lease in a remote: whom it names, when it is renewed, and that a stranger in it is not followed."""

from __future__ import annotations

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.replica.writer_lease import LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS, WriterLease
from support import GitRepo, MakeRepo

ONE, TWO, STRANGER = "http://one:8090", "http://two:8090", "http://stranger:8090"


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("clone", {"a.md": "# A\n"})


def lease_of(repo: GitRepo, url: str, *peers: str) -> WriterLease:
    return WriterLease(GitRepository(repo.path / ".git"), url, peers)


def renewed(lease: WriterLease) -> str:
    renewal = lease.renewal()
    assert renewal is not None
    lease.observe(renewal[0])
    return renewal[0]


def test_without_a_lease_anybody_may_write(repo: GitRepo) -> None:
    assert lease_of(repo, ONE, TWO).owner == ""


def test_the_server_that_renews_it_is_the_one_that_writes(repo: GitRepo) -> None:
    lease, two = lease_of(repo, ONE, TWO), lease_of(repo, TWO, ONE)
    commit = renewed(lease)
    two.observe(commit)
    assert (lease.owner, two.owner) == ("", ONE)
    assert lease.renewal() is None
    taken = two.renewal()
    assert taken is not None
    assert taken[1] == commit
    assert repo.git("cat-file", "-t", taken[0]) == "commit"


def test_a_server_that_names_itself_among_the_others_does_not_hand_over_to_itself(repo: GitRepo) -> None:
    lease = lease_of(repo, ONE, ONE, TWO)
    renewed(lease)
    assert (lease.owner, lease.is_own, ONE in lease.writers()) == ("", True, False)


def test_a_lease_that_names_no_known_server_is_not_followed(repo: GitRepo) -> None:
    stranger, lease = lease_of(repo, STRANGER, ONE), lease_of(repo, ONE, TWO)
    lease.observe(renewed(stranger))
    assert lease.owner == ""
    lease.observe(repo.git("rev-parse", "HEAD"))
    assert lease.owner == ""
    lease.observe("1" * 40)
    assert lease.owner == ""


def test_a_lease_that_was_not_renewed_in_time_is_free(repo: GitRepo) -> None:
    now = [1000.0]
    repository = GitRepository(repo.path / ".git")
    lease, two = (WriterLease(repository, url, (ONE, TWO), clock=lambda: now[0]) for url in (ONE, TWO))
    two.observe(renewed(lease))
    now[0] += RENEW_SECONDS - 0.1
    assert (two.owner, lease.renewal()) == (ONE, None)
    now[0] += 0.1
    two.observe(renewed(lease))
    now[0] += LEASE_SECONDS - 0.1
    assert two.owner == ONE
    now[0] += 0.1
    assert two.owner == ""


def _all_of(repo: GitRepo, base: str, now: list[float]) -> dict[str, WriterLease]:
    repository = GitRepository(repo.path / ".git")
    urls = (ONE, TWO, STRANGER)
    return {url: WriterLease(repository, url, set(urls) - {url}, base, lambda: now[0]) for url in urls}


def test_all_servers_agree_on_an_order_and_many_remotes_are_spread_over_them(repo: GitRepo) -> None:
    first: list[str] = []
    for number in range(60):
        leases = _all_of(repo, f"base {number}", [0.0])
        orders = sorted((lease.writers() for lease in leases.values()), key=len)
        assert [len(order) for order in orders] == [0, 1, 2]
        assert orders[1] == orders[2][:1]
        first.append(orders[1][0])
    assert min(first.count(url) for url in (ONE, TWO, STRANGER)) >= 10


def test_a_server_that_failed_is_tried_again_later_or_when_it_renews_the_lease(repo: GitRepo) -> None:
    now = [1000.0]
    leases = _all_of(repo, "base", now)
    last = max(leases.values(), key=lambda lease: len(lease.writers()))
    best, second = last.writers()
    last.failed(best)
    assert (last.writers(), last.has_failed(best)) == ([second], True)
    now[0] += RETRY_SECONDS
    assert last.writers() == [best, second]
    last.failed(best)
    last.observe(renewed(leases[best]))
    assert (last.writers(), last.has_failed(best)) == ([best, second], False)


def test_the_server_with_the_lease_is_tried_first_while_it_is_current(repo: GitRepo) -> None:
    now = [1000.0]
    leases = _all_of(repo, "base", now)
    last = max(leases.values(), key=lambda lease: len(lease.writers()))
    best, second = last.writers()
    last.observe(renewed(leases[second]))
    assert last.writers() == [second, best]
    now[0] += LEASE_SECONDS
    assert last.writers() == [best, second]
    leases[best].observe(renewed(leases[second]))
    assert leases[best].writers() == []  # it takes the lease with its next push


def test_a_server_without_a_url_hands_over_and_never_has_the_lease(repo: GitRepo) -> None:
    lease = lease_of(repo, "", ONE, TWO)
    assert sorted(lease.writers()) == [ONE, TWO]
    assert lease.renewal() is None


def test_the_log_has_a_line_when_a_server_takes_the_lease_over_and_when_it_loses_it(
    repo: GitRepo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    repository = GitRepository(repo.path / ".git")
    now = [0.0]
    lease, two = (WriterLease(repository, url, (ONE, TWO), clock=lambda: now[0], name="team") for url in (ONE, TWO))
    first = renewed(lease)
    now[0] += RENEW_SECONDS
    two.observe(renewed(lease))

    # Threads of other tests in this process may log, too.
    def lines() -> list[str]:
        return [message for message in caplog.messages if message.startswith("team: ")]

    assert [line.partition(" (")[0] for line in lines()] == ["team: this server has taken over the lease of writing"]
    assert first[:12] in caplog.text
    caplog.clear()
    second = renewed(two)
    lease.observe(second)
    lease.observe(second)
    assert lines() == [
        f"team: this server has taken over the lease of writing (lease {second[:12]})",
        f"team: this server has lost the lease of writing to two:8090 (lease {second[:12]})",
    ]
