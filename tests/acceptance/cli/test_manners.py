"""The command among other commands: help, mistakes, exit codes, pipes, terminals, interruption."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from commonplace import build
from commonplace.faces.cli.app import command_modules
from commonplace.faces.cli.failures import EXIT_CODES
from commonplace.registration import toolset_commands
from forks.preloaded import preloaded
from shell import COMMAND, TIMEOUT, Shell

COMMANDS = tuple(command_modules(toolset_commands()))
STYLE = re.compile(r"\x1b\[")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a folder of many pages, one of which tries to take over the terminal."""
    folder = tmp_path_factory.mktemp("manners") / "notes"
    folder.mkdir()
    for number in range(300):
        (folder / f"page-{number:03}.md").write_text(f"# Page {number}\n\nGreen tea, cup {number}. {'Word ' * 200}\n")
    (folder / "evil.md").write_text("# Evil \x1b]0;owned\x07title\n\nquixotic \x1b[2Jtea\n")
    return Shell(folder)


def test_the_version_is_told(shell: Shell) -> None:
    assert shell.ok("--version").text == f"commonplace {build()}\n"


def test_the_help_begins_with_examples_and_lists_commands_and_exit_codes(shell: Shell) -> None:
    text = shell.ok("--help").text
    assert text.index("Examples:") < text.index("Options:") < text.index("Commands:")
    listed = re.findall(r"^  ([a-z-]+)  ", text[text.index("Commands:") :], re.MULTILINE)
    assert tuple(listed) == COMMANDS
    flat = " ".join(text.split())
    assert all(f"{code} {meaning}" in flat for code, meaning in EXIT_CODES)
    assert shell.ok().text == text


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.soak
def test_every_command_shows_examples_that_are_no_mistakes(shell: Shell, command: str) -> None:
    text = shell.ok(command, "--help").text
    shown = text[text.index("Examples:") : text.index("Options:")]
    typed = (line[line.index("commonplace ") :] for line in shown.splitlines() if f"commonplace {command}" in line)
    examples = [list(takewhile(lambda word: word not in {"|", ">"}, shlex.split(line))) for line in typed]
    assert len(examples) >= 2
    assert max(map(len, text.splitlines())) <= 80
    options = {word for words in examples for word in words if word.startswith("-") and word != "-"}
    assert {option for option in options if option not in text[text.index("Options:") :]} == set()
    assert not STYLE.search(text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serch"], "No such command 'serch'. Did you mean 'search'"),
        (["search", "tea", "--limt", "3"], "--limit"),
        (["search"], "QUERY"),
        (["search", "tea", "--limit", "0"], "--limit"),
        (["search", "tea", "--limit", "many"], "--limit"),
        (["search", "tea", "--sort", "colour"], "--sort"),
        (["search", "tea", "--from", "yesterday"], "expected a day such as 2024-05-31"),
        (["read", "tea", "extra"], "extra"),
        (["read", "tea", "--lines", "x"], "expected numbers such as 10-40"),
        (["links"], "Missing PAGE."),
        (["links", "tea", "--orphans"], "--orphans is about all pages."),
        (["mcp", "--tier", "root"], "expected one of read, propose, write, admin, got 'root'"),
        (["mcp", "--toolset", "klingon"], "Unknown toolset 'klingon': expected one of "),
        (["mcp", "--commit", "auto"], "not in a Git repository"),
        (["list", "--log-level", "loud"], "expected one of debug, info, warning, error"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_right(shell: Shell, arguments: list[str], says: str) -> None:
    done = shell(*arguments)
    assert (done.code, done.stdout) == (2, b"")
    assert says in done.stderr
    assert re.match(r"(Config)?Error: ", done.stderr)
    assert "Traceback" not in done.stderr
    as_json = shell(*arguments, "--json")
    assert as_json.code == 2
    assert says in as_json.error["message"]


def test_a_server_that_cannot_start_says_config_error(shell: Shell) -> None:
    done = shell("mcp", "--tier", "root")
    assert done.stderr.startswith("ConfigError: ")
    assert shell("mcp", shell.folder / "gone").code == 3


def test_a_wrong_setting_stops_every_command(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('teir = "read"\n')
    wrong = Shell(shell.folder, {"COMMONPLACE_CONFIG": str(tmp_path / "config.toml")})
    done = wrong("list")
    assert done.code == 2
    assert done.stderr.startswith("ConfigError: Unknown setting 'teir' in config.toml.")
    assert "Did you mean 'tier'?" in done.stderr


@pytest.mark.parametrize("command", [["search", "tea"], ["index"], ["check"], ["connect", "zed"], ["serve"], ["mcp"]])
def test_a_folder_that_is_not_there_is_named_as_it_was_given(shell: Shell, command: list[str]) -> None:
    for path in ("/nowhere/at-all", "nowhere/at-all"):
        done = shell(*command, "-C", path)
        assert done.code == 3
        assert done.stderr.startswith(f"Error: There is no folder '{path}'.\nHint: Name one that exists: -C PATH.\n")
    done = shell(*command, "-C", "evil.md")
    assert done.code == 3
    assert done.stderr.startswith("Error: 'evil.md' is a file, not a folder.\nHint: Name its folder: .\n")


def test_an_address_for_others_without_a_key_names_the_commands_that_make_one(shell: Shell, tmp_path: Path) -> None:
    alone = Shell(shell.folder, {"XDG_STATE_HOME": str(tmp_path)})
    done = alone("serve", "--host", "0.0.0.0")  # noqa: S104 - it must be refused
    assert done.code == 2
    for command in ("commonplace keys create laptop --tier read", "commonplace serve --host 0.0.0.0"):
        assert command in done.stderr
    assert "COMMONPLACE_API_KEY" in done.stderr, "our setting, no other product's"


def test_a_reader_that_has_enough_is_no_failure(shell: Shell) -> None:
    program = f"{preloaded().programs() or Path(COMMAND[0]).parent}/commonplace"
    for command in ("list --limit 1000", "search tea --limit 1000", "read page-001"):
        done = subprocess.run(
            ["sh", "-c", f"{program} {command} | head -n 1"],
            cwd=shell.folder,
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )
        assert done.stdout.count(b"\n") == 1
        assert done.stderr.decode() in {"", "Showing 301 of 301\n"}


def test_a_closed_pipe_ends_the_command_quietly(shell: Shell) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen([*COMMAND, "list"], cwd=shell.folder, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _, stderr = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 141
    assert stderr in {b"", b"Showing 20 of 301; pass --offset 20 for more.\n"}


def test_a_terminal_shows_matched_words_bold(shell: Shell) -> None:
    code, shown = shell.on_a_terminal("search", "green tea", "--limit", "1")
    assert code == 0
    assert "\x1b[1mGreen\x1b[0m \x1b[1mtea\x1b[0m, cup" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.soak
def test_no_styles_where_they_are_not_wanted(shell: Shell, environment: dict[str, str]) -> None:
    plain = Shell(shell.folder, environment)
    for arguments in (["search", "tea"], ["list"], ["check"], ["read", "gone"]):
        _, shown = plain.on_a_terminal(*arguments)
        assert shown
        assert not STYLE.search(shown), shown
    _, shown = shell.on_a_terminal("search", "tea", "--no-color")
    assert not STYLE.search(shown)
    assert not STYLE.search(shell.ok("search", "tea").text)


def test_a_page_cannot_take_over_the_terminal(shell: Shell) -> None:
    for arguments in (
        ["search", "quixotic"],
        ["read", "evil"],
        ["list", "--prefix", "evil"],
        ["read", "evil", "--outline"],
    ):
        code, shown = shell.on_a_terminal(*arguments, "--no-color")
        assert code == 0
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\\x1b]0;owned" in shown
    assert b"\x1b[2J" in shell.ok("read", "evil").stdout


@pytest.mark.usefixtures("cache_dir")
def test_progress_is_for_people_only(shell: Shell) -> None:
    done = shell.ok("index")
    assert done.stderr == ""
    assert done.text.startswith("notes: 301 pages, ")
    assert "301 added, 0 updated, 0 removed in " in done.text
    again = shell.ok("index", "--json").json["collections"][0]
    assert (again["documents"], again["added"], again["unreadable"]) == (301, 0, [])
    assert again["types"] == {"": 301}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches what is started, even where a shell started the tests in the background and had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("cache_dir", "interruptible")
@pytest.mark.soak
def test_an_interrupted_index_is_gone_on_with(tmp_path: Path) -> None:
    for number in range(4_000):
        (tmp_path / f"{number}.md").write_text(f"# Page {number}\n\n{'Some words of text. ' * 100}\n")
    shell = Shell(tmp_path)
    code, shown = shell.on_a_terminal("index", interrupt_at="Indexing")
    assert code == 130
    assert "Traceback" not in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is visible again"
    assert shell.ok("index", "--json").json["collections"][0]["documents"] == 4_000
    assert shell.ok("search", "3999", "--json").json["hits"][0]["path"] == "3999.md"


def test_check_finds_what_is_wrong_and_where(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "a.md").write_text("---\ntags: [a\n---\n# A\n\nSee [[b]].\n")
    (tmp_path / "b.md").write_text("---\nid: same\n---\n# B\n\n[[a]] [[gone]]\n")
    (tmp_path / "c.md").write_text("---\nid: same\n---\n# C\n\n[[b]]\n")
    (tmp_path / "d.md").write_bytes(b"# D\n\ncaf\xe9 [[c]]\n")
    os.mkfifo(tmp_path / "e.md")
    done = shell("check", "--json")
    assert done.code == 1
    values = {(finding["path"], finding["rule"]): finding for finding in done.json["findings"]}
    assert values["a.md", "bad_yaml"]["severity"] == "error"
    assert values["b.md", "broken_link"]["line"] == 6
    assert values["b.md", "duplicate_id"]["severity"] == values["c.md", "duplicate_id"]["severity"] == "error"
    assert ("d.md", "not_utf8") in values
    assert ("e.md", "skipped") in values
    assert values["d.md", "orphan_entry"]["severity"] == "info"
    assert done.json["documents"] == 4
    assert sum(done.json["counts"].values()) == len(done.json["findings"])
    text = shell("check", "--quiet")
    assert "b.md:6: warning: The link to 'gone' leads nowhere. [broken_link]" in text.lines
    assert "[orphan_entry]" not in text.text
    assert text.stderr.startswith("4 pages: ")


def test_check_is_content_with_what_is_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n[[b]]\n")
    (tmp_path / "b.md").write_text("# B\n\n[[a]]\n")
    done = Shell(tmp_path).ok("check")
    assert (done.text, done.stderr) == ("", "2 pages: 0 errors, 0 warnings, 0 info.\n")


def test_a_rebuilt_index_answers_as_before(shell: Shell) -> None:
    before = shell.ok("search", "cup 7", "--json").json
    rebuilt = shell.ok("index", "--rebuild", "--json").json["collections"][0]
    assert rebuilt["added"] == 301
    after = shell.ok("search", "cup 7", "--json").json
    assert [hit["path"] for hit in after["hits"]] == [hit["path"] for hit in before["hits"]]


def test_json_errors_are_one_object_on_standard_error(shell: Shell) -> None:
    done = shell("read", "gone", "--json")
    assert done.stdout == b""
    assert json.loads(done.stderr)["error"]["code"] == "not_found"
    assert done.stderr.count("\n") == 1


def test_a_misspelt_setting_in_the_environment_is_named_once(shell: Shell) -> None:
    done = replace(shell, environment={"COMMONPLACE_TOOLSETT": "hunter2"})("search", "tea", "--json")
    assert (done.code, done.json["total"] > 0) == (0, True)
    assert done.stderr.count("TOOLSETT is no setting and is ignored. Did you mean COMMONPLACE_TOOLSET?") == 1
    assert "hunter2" not in done.stderr
