"""Many clients at once, and thousands of requests that nobody thought of."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from serving import Server, served
from support import MODELS, SOAK, Amount, MakeRepo, eventually
from wiki_base import wiki_repo

CLIENTS = 32
CHECKS = ",".join((
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "positive_data_acceptance",
))  # fmt: skip

PHASES = "examples,coverage,fuzzing" if SOAK else "examples,fuzzing"
"""The phase of coverage makes thousands of requests, however few examples are asked for."""
STATUSES = "'2xx', '3xx', 401, 403, 404, 409, 412, 429, '5xx'"
"""Answers to a valid request."""


def test_many_clients_writing_at_once_lose_nothing(git_repo: MakeRepo, cache_dir: Path, amount: Amount) -> None:
    assert cache_dir.is_dir()
    repo = wiki_repo(git_repo)
    pages = amount(4, 50)
    with served(repo.path) as server:
        assert server.page("PUT", "Shared", {"content": "begin\n"}).status == 201
        with ThreadPoolExecutor(CLIENTS) as pool:
            counts = list(pool.map(lambda number: _client(server, number, pages), range(CLIENTS)))
        total = sum(counts, Counter[int]())
        assert set(total) <= {200, 201, 409}, total
        lines = server.page("GET", "Shared").json["content"].splitlines()
        listed = server.ask("GET", "/api/v1/pages?prefix=c").json["total"]
    own = CLIENTS * (pages - pages // 2)
    assert total[201] == own
    assert sorted(path.stem for path in (repo.path).glob("c*/*.md")).__len__() == own == listed
    assert len(lines) == 1 + total[200], "an update was lost"
    assert len(set(lines)) == len(lines)
    assert repo.git("rev-list", "--count", "HEAD") == str(2 + own + total[200])
    assert repo.git("status", "--porcelain") == ""


def _client(server: Server, number: int, pages: int) -> Counter[int]:
    """Every second write is to the page that all share, at the revision that was last seen."""
    statuses: Counter[int] = Counter()
    seen = server.page("GET", "Shared").json
    for turn in range(pages):
        if turn % 2 == 0:
            statuses[server.page("PUT", f"c{number}/{turn}", {"content": f"{turn}\n"}).status] += 1
            continue
        body = {"content": f"{seen['content']}{number}.{turn}\n", "revision": seen["revision"]}
        answer = server.page("PUT", "Shared", body)
        statuses[answer.status] += 1
        if answer.status == 409:
            assert len(answer.json["current_revision"]) == 40
        seen = server.page("GET", "Shared").json
    return statuses


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_request_that_the_document_allows_is_refused_and_none_that_it_forbids_breaks_the_server(
    git_repo: MakeRepo,
    cache_dir: Path,
    tmp_path: Path,
    amount: Amount,
    record_property: Callable[[str, object], None],
) -> None:
    assert cache_dir.is_dir()
    with _with_meaning(wiki_repo(git_repo).path) as server:
        printed = _generated(server, amount(1, 600), tmp_path)
        _is_unharmed(server)
    assert "Dropped" not in printed, "a pattern that generators cannot use"
    made = re.search(r"([\d,]+) generated", printed)
    assert made, printed[-1000:]
    cases = int(made[1].replace(",", ""))
    record_property("cases", cases)
    assert cases >= amount(30, 1000)


@contextmanager
def _with_meaning(folder: Path) -> Generator[Server]:
    """A server of a folder whose search by meaning answers."""
    with served(folder, env={"COMMONPLACE_MODEL_DIR": str(MODELS)}) as server:
        eventually(lambda: server.ask("GET", "/api/v1/search?q=x&mode=semantic").status == 200, 60)
        yield server


def _generated(server: Server, examples: int, folder: Path) -> str:
    """Run generated requests against a server, none of which may fail a check; what was printed."""
    # 412 and 409 depend on the page's state and 404 on the page, which no document can say. So does 422 of an edit:
    # its text must occur.
    (folder / "schemathesis.toml").write_text(
        f"[checks]\npositive_data_acceptance.expected-statuses = [{STATUSES}]\n"
        '[[operations]]\ninclude-name = "PATCH /pages/{path}"\n'
        f"checks.positive_data_acceptance.expected-statuses = [{STATUSES}, 422]\n"
    )
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/api/v1/openapi.json",
            "--checks", CHECKS, "--mode", "all", "--suppress-health-check", "all",
            "--max-examples", str(examples), "--seed", "1",
            "--phases", PHASES, "--generation-database", "none",
        ],
        capture_output=True, text=True, check=False, timeout=1500, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def _is_unharmed(server: Server) -> None:
    assert server.ask("GET", "/health").status == 200
    assert not [line for line in server.lines if "Traceback" in line]
