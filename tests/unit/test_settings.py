"""Settings: where they come from, which wins, and the error for a wrong one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.settings import (
    Setting,
    about,
    default_settings,
    every_setting,
    load_settings,
    origins,
    unknown_variables,
)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own and nothing else."""
    return {"HOME": str(tmp_path)}


def configure(home: dict[str, str], text: str) -> None:
    """Write the user's settings file."""
    file = Path(home["HOME"]) / ".config" / "commonplace" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


def test_nothing_needs_to_be_set(home: dict[str, str]) -> None:
    settings = load_settings(home)
    assert settings == default_settings(home)
    assert settings.cache_dir == Path(home["HOME"]) / ".cache" / "commonplace"
    assert settings.state_dir == Path(home["HOME"]) / ".local" / "state" / "commonplace"
    assert settings.kb == (Path(),)
    assert settings.tier is None


def test_the_xdg_directories_are_respected(home: dict[str, str]) -> None:
    settings = load_settings({**home, "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "/s"})
    assert settings.cache_dir == Path("/c/commonplace")
    assert settings.state_dir == Path("/s/commonplace")


def test_a_flag_wins_over_the_environment_and_that_over_the_file(home: dict[str, str]) -> None:
    configure(home, 'tier = "read"\ncommit = "auto"\ntoolset = "one"\n')
    environment = {**home, "COMMONPLACE_TIER": "write", "COMMONPLACE_TOOLSET": "two"}
    settings = load_settings(environment, {"tier": "admin", "toolset": None})
    assert (settings.commit, settings.toolset, settings.tier) == ("auto", "two", "admin")


def test_an_empty_variable_sets_nothing(home: dict[str, str]) -> None:
    assert load_settings({**home, "COMMONPLACE_TIER": ""}).tier is None


def test_a_variable_that_is_no_setting_is_named_with_the_nearest_and_without_its_value() -> None:
    given_values = {"COMMONPLACE_API_KEYS": "hunter2", "commonplace_port": "hunter2", "COMMONPLACE_XYZZY": "hunter2"}
    near, far, small = unknown_variables(given_values)
    assert (near, small) == tuple(
        f"The environment variable {name} is no setting and is ignored. Did you mean {meant}?"
        for name, meant in [("COMMONPLACE_API_KEYS", "COMMONPLACE_API_KEY"), ("commonplace_port", "COMMONPLACE_PORT")]
    )
    assert far == "The environment variable COMMONPLACE_XYZZY is no setting and is ignored. docs/settings.md lists all."


def test_settings_and_the_variables_of_other_programs_are_not_named() -> None:
    variables = [setting.variable for setting in every_setting()]
    kubernetes = ["SERVICE_HOST", "SERVICE_PORT_HTTP", "MCP_PORT", "PORT_80_TCP", "PORT_80_TCP_ADDR"]
    of_others = ["COMMONPLACE_CONFIG", "_COMMONPLACE_WORKER", *(f"COMMONPLACE_{name}" for name in kubernetes)]
    assert unknown_variables(dict.fromkeys([*variables, *of_others], "x")) == []


def test_folders_are_a_list_in_the_file_and_separated_in_the_environment(home: dict[str, str]) -> None:
    configure(home, 'kb = ["/a", "/b c"]\n')
    assert load_settings(home).kb == (Path("/a"), Path("/b c"))
    separated = os.pathsep.join(["/d", "/e"])
    assert load_settings({**home, "COMMONPLACE_KB": separated}).kb == (Path("/d"), Path("/e"))
    assert load_settings(home, {"kb": ["/f"]}).kb == (Path("/f"),)


def test_a_tilde_is_the_home_folder(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home["HOME"])
    configure(home, 'cache_dir = "~/elsewhere"\n')
    assert load_settings(home).cache_dir == Path(home["HOME"]) / "elsewhere"


def test_the_file_may_be_named(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('log_level = "info"\n')
    assert load_settings({**home, "COMMONPLACE_CONFIG": str(tmp_path / "mine.toml")}).log_level == "info"


def test_a_named_file_must_be_there(home: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"no settings file 'gone.toml'") as caught:
        load_settings({**home, "COMMONPLACE_CONFIG": "/nowhere/gone.toml"})
    assert "COMMONPLACE_CONFIG" in caught.value.hint
    assert "/nowhere" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('teir = "read"\n', "Unknown setting 'teir' in config.toml. Known: cache_dir, ", "Did you mean 'tier'?"),
        ("zzzzzz = 1\n", "Unknown setting 'zzzzzz' in config.toml", "Remove it"),
        (
            'tier = "root"\n',
            "Invalid tier in config.toml: expected one of read, propose, write, admin, got 'root'.",
            "",
        ),
        ("tier = 3\n", "Invalid tier in config.toml: expected one of read, propose, write, admin, got 3.", ""),
        ("kb = []\n", "Invalid kb in config.toml: expected paths of folders, got [].", ""),
        ("kb = [3]\n", "Invalid kb in config.toml: expected paths of folders, got [3].", ""),
        ("cache_dir = 1.5\n", "Invalid cache_dir in config.toml: expected the path of a folder, got 1.5.", ""),
        ('cache_dir = "~nobody-of-that-name/x"\n', "Invalid cache_dir in config.toml", ""),
        ('toolset = " "\n', "Invalid toolset in config.toml: expected text", ""),
        ("[tier]\nx = 1\n", "Invalid tier in config.toml", ""),
        ("tier = \n", "The settings file 'config.toml' is not valid TOML: ", ""),
    ],
)
def test_what_is_wrong_in_the_file_is_named(home: dict[str, str], text: str, message: str, hint: str) -> None:
    configure(home, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(home)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_a_file_that_is_no_text_is_named(home: dict[str, str]) -> None:
    configure(home, "")
    (Path(home["HOME"]) / ".config" / "commonplace" / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"'config.toml' cannot be read: it is not UTF-8"):
        load_settings(home)


def test_a_folder_in_place_of_the_file_is_named(home: dict[str, str]) -> None:
    (Path(home["HOME"]) / ".config" / "commonplace" / "config.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"'config.toml' cannot be read: Is a directory"):
        load_settings(home)


def test_a_wrong_variable_and_a_wrong_flag_are_named(home: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="Invalid COMMONPLACE_COMMIT: expected one of auto, manual, got 'yes'"):
        load_settings({**home, "COMMONPLACE_COMMIT": "yes"})
    with pytest.raises(ConfigError, match="Invalid --log-level: expected one of debug, info, warning, error"):
        load_settings(home, {"log_level": "loud"})


def test_a_long_wrong_value_is_cut(home: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(home, {"tier": "x" * 5000})
    assert len(str(caught.value)) < 200


def test_every_setting_says_what_it_is_and_what_it_takes() -> None:
    rows = every_setting()
    assert [row.name for row in rows][:2] == ["cache_dir", "state_dir"]
    for row in rows:
        assert row.text.endswith("."), row
        assert row.valid, row
        assert row.variable == f"COMMONPLACE_{row.name.upper()}"
        assert about(row.name) == row.text
    assert {row.name: row.default for row in rows}["cache_dir"] == "$XDG_CACHE_HOME/commonplace"


def _another(setting: Setting) -> str:
    """A valid value that is not the default."""
    choices = setting.valid.removeprefix("one of ").split(", ") if setting.valid.startswith("one of ") else []
    if setting.valid == "true or false":
        choices = ["true", "false"]
    if "http://localhost:3000" in setting.valid:
        choices = ["http://localhost:3000 app://obsidian.md"]
    return next((choice for choice in choices if choice != setting.default), "1234")


def test_every_setting_can_be_given_in_each_place(home: dict[str, str]) -> None:
    anothers = {row.name: _another(row) for row in every_setting()}
    remotes = {name: text for name, text in anothers.items() if name != "kb"}  # the one excludes the other as a flag
    by_flag = replace(load_settings(home, remotes), kb=load_settings(home, {"kb": anothers["kb"]}).kb)
    by_variable = load_settings({**home, **{f"COMMONPLACE_{name.upper()}": text for name, text in anothers.items()}})
    configure(home, "".join(f'{name} = "{text}"\n' for name, text in anothers.items()))
    assert by_flag == by_variable == load_settings(home)
    unchanged = [
        row.name for row in every_setting() if getattr(by_flag, row.name) == getattr(default_settings(home), row.name)
    ]
    assert unchanged == []


def test_variables_of_other_programs_are_known_and_the_own_name_wins(home: dict[str, str]) -> None:
    settings = load_settings(
        {**home, "OTTERWIKI_API_URL": "http://w", "MCP_PORT": "9", "RETAIN_PAGE_NAME_CASE": "False"}
    )
    assert (settings.wiki_url, settings.port, settings.retain_page_name_case) == ("http://w", 9, False)
    assert load_settings({**home, "MCP_PORT": "9", "COMMONPLACE_PORT": "10"}).port == 10


@pytest.mark.parametrize("wrong", ["-1", "65536", "http", "8.5", ""])
def test_a_port_is_a_number_up_to_65535(home: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError, match="Invalid --port: expected a whole number, 0 to 65535"):
        load_settings(home, {"port": wrong})


def test_folders_count_as_named_only_when_somebody_names_them(home: dict[str, str]) -> None:
    assert not load_settings(home).names_folders
    assert load_settings(home, {"kb": ["."]}).names_folders
    assert load_settings({**home, "COMMONPLACE_KB": "/k"}).names_folders


def test_origins_are_as_browsers_send_them(home: dict[str, str]) -> None:
    given_texts = ["HTTP://LocalHost:3000/", "https://a.example:443", "http://[::1]:80", "app://obsidian.md"]
    expected = ("http://localhost:3000", "https://a.example", "http://[::1]", "app://obsidian.md")
    assert load_settings(home, {"allow_origin": given_texts}).allow_origin == expected
    assert load_settings({**home, "COMMONPLACE_ALLOW_ORIGIN": " ".join(given_texts)}).allow_origin == expected
    shown = next(value for name, value, _ in origins(home, {"allow_origin": given_texts}) if name == "allow_origin")
    assert shown == " ".join(expected)


@pytest.mark.parametrize(
    "wrong",
    ["*", "null", "localhost:3000", "http://*.example", "http://a/b", "http://u@a", "http://a:b", "http://", " "],
)
def test_what_is_no_origin_is_refused(home: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError, match="Invalid --allow-origin: expected origins such as http://localhost:3000"):
        load_settings(home, {"allow_origin": ["http://localhost:3000", wrong]})


def test_a_url_among_the_folders_is_a_remote_and_a_flag_replaces_the_other_kind(home: dict[str, str]) -> None:
    settings = load_settings(home, {"kb": ["https://git.example.org/team.git"], "replica_of": ["/srv/other.git"]})
    assert settings.replica_of == ("https://git.example.org/team.git", "/srv/other.git")
    assert not settings.names_folders
    followed = {**home, "COMMONPLACE_REPLICA_OF": "file:///srv/team.git", "COMMONPLACE_KB": "/notes"}
    assert load_settings(followed, {"kb": None}).replica_of == ("file:///srv/team.git",)
    assert load_settings(followed, {"kb": ["/other"]}).replica_of == ()
    assert not load_settings(followed, {"replica_of": ["/srv/a.git"]}).names_folders
    with pytest.raises(ConfigError, match="Folders and --replica-of"):
        load_settings(home, {"kb": ["/notes", "file:///srv/team.git"]})
    with pytest.raises(ConfigError, match="Folders and --replica-of"):
        load_settings(home, {"kb": ["/notes"], "replica_of": ["/srv/team.git"]})


def test_a_secret_comes_from_a_file_that_a_variable_names(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    environment = {"HOME": str(tmp_path), "COMMONPLACE_CLUSTER_SECRET_FILE": str(secret)}
    assert load_settings(environment).cluster_secret == secret.read_text().strip()
    assert unknown_variables(environment) == []
    assert unknown_variables({"COMMONPLACE_HOST_FILE": "x"}) != []
    with pytest.raises(ConfigError, match="CLUSTER_SECRET_FILE cannot be read"):
        load_settings(environment | {"COMMONPLACE_CLUSTER_SECRET_FILE": str(tmp_path / "none")})
