"""What can be set: each setting declared once with its meaning and unit; default < file < environment < flag.

The file is `commonplace/config.toml` under `$XDG_CONFIG_HOME` (`~/.config`), or the one that `COMMONPLACE_CONFIG`
names. A setting `some_name` stands there as `some_name`, in the environment as `COMMONPLACE_SOME_NAME`, and on the
command line as `--some-name` where a command has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args, get_type_hints

from commonplace.domain.changes import ClientCredit
from commonplace.domain.errors import ConfigError
from commonplace.settings.values import Origin, value_as_text, value_reader

CommitMode: TypeAlias = Literal["auto", "manual"]
Tier: TypeAlias = Literal["read", "write", "admin"]
WikilinkStyle: TypeAlias = Literal["linktitle", "pagenametitle", "titlelink", "titlepagename"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
Environment: TypeAlias = Mapping[str, str]
Flags: TypeAlias = Mapping[str, str | Sequence[str] | None]

PREFIX = "COMMONPLACE_"
CONFIG_VARIABLE = "COMMONPLACE_CONFIG"
MAX_SHOWN_SETTING = 60
"""Characters of a wrong value that an error repeats."""


@dataclass(frozen=True, slots=True)
class Doc:
    """What a setting means, for help texts and the documentation."""

    text: str
    unit: str = ""
    """Of what a number counts, or ""."""
    default: str = ""
    """The default in words, where it depends on the environment."""
    also: str = ""
    """Another name in the environment, by which users of other programs know it; or ""."""
    secret: bool = False
    """Whether no message may repeat its value."""


CURRENT_FOLDER = (Path(),)
"""The folders where none are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one process runs."""

    cache_dir: Annotated[
        Path,
        Doc("Where indexes live; all of it may be deleted at any moment.", default="$XDG_CACHE_HOME/commonplace"),
    ]
    state_dir: Annotated[
        Path,
        Doc(
            "Where the trash lies, and locks and journals of folders without Git.",
            default="$XDG_STATE_HOME/commonplace",
        ),
    ]
    model_dir: Annotated[
        Path,
        Doc("Where the model for searching by meaning is installed.", default="$XDG_DATA_HOME/commonplace/models"),
    ]
    knowledge_home: Annotated[
        Path,
        Doc(
            "Where the toolset `projects` keeps its store, where no folder is named.",
            default="~/.knowledge-mcp",
            also="KNOWLEDGE_MCP_HOME",
        ),
    ]
    knowledge_log_level: Annotated[
        Literal["debug", "info", "warn", "warning", "error"],
        Doc("The least level of what the toolset `projects` logs.", also="KNOWLEDGE_MCP_LOG_LEVEL"),
    ] = "info"
    adopt: Annotated[
        bool,
        Doc(
            "Whether the toolset `projects` makes its store in a folder that holds other files and is no store yet. "
            "Only the store's own files are committed there; the branch is pushed to `origin/main`."
        ),
    ] = False
    kb: Annotated[
        tuple[Path, ...],
        Doc("Folders to serve; several are separated as in PATH, or are a list in the file.", default="."),
    ] = CURRENT_FOLDER
    manifest: Annotated[
        Path | None, Doc("File that names layers to serve instead of folders; whoever writes it may start commands.")
    ] = None
    personal: Annotated[Path | None, Doc("Folder of the upper of two layers; needs `shared`.")] = None
    shared: Annotated[Path | None, Doc("Folder of the lower of two layers; needs `personal`.")] = None
    toolset: Annotated[
        str | None, Doc("What an MCP server speaks.", default="`pages` for a synced space, else `kb`")
    ] = None
    tier: Annotated[
        Tier | None, Doc("What callers of a server may do; without one, what is usual for its toolset.")
    ] = None
    commit: Annotated[
        CommitMode,
        Doc("`auto`: each write through MCP is one commit; `manual`: writes are files until they are committed."),
    ] = "manual"
    commit_client: Annotated[
        ClientCredit,
        Doc(
            "How commits name the program that asked for them over MCP: `none`, as `co-author`, or as `author` where "
            "no other author is given."
        ),
    ] = "none"
    sweep: Annotated[
        int | None,
        Doc(
            "How often a folder is looked through for changes that the system does not report; 0 for never.",
            unit="seconds",
            default="5 on network and shared file systems, else 0",
        ),
    ] = None
    embed: Annotated[
        bool,
        Doc("Whether pages are embedded in the background and search goes by meaning too, where there is a model."),
    ] = True
    model: Annotated[
        Path | None,
        Doc("Folder of another model: an ONNX file with its tokenizer.json.", default="the installed one"),
    ] = None
    embedding_url: Annotated[
        str | None,
        Doc("A server that embeds instead, by the API of OpenAI, such as http://localhost:11434/v1."),
    ] = None
    embedding_model: Annotated[str | None, Doc("What that server calls its model; needed with `embedding_url`.")] = None
    embedding_key: Annotated[str | None, Doc("The key of that server.", secret=True)] = None
    log_level: Annotated[LogLevel, Doc("The least level of what is logged on standard error.")] = "warning"
    host: Annotated[str, Doc("The address that `serve` listens on.")] = "127.0.0.1"
    port: Annotated[int, Doc("The port that `serve` listens on; 0 for any free one.", also="MCP_PORT")] = 8090
    allow_origin: Annotated[
        tuple[Origin, ...],
        Doc("Origins of other servers whose pages may call `serve` from a browser.", default="none"),
    ] = ()
    rate_limit: Annotated[
        int | None,
        Doc(
            "How many calls a key may make, or an address that needs none; 0 for no limit.",
            unit="calls a minute",
            default="6000, and no limit on the same machine where nobody needs a key",
        ),
    ] = None
    public_url: Annotated[
        str | None, Doc("Where clients reach the server behind a proxy, such as https://notes.example.org.")
    ] = None
    wiki_url: Annotated[
        str | None,
        Doc("A server whose wiki the toolset `wiki` serves, where no folder is named.", also="OTTERWIKI_API_URL"),
    ] = None
    api_key: Annotated[
        str | None,
        Doc(
            "The key of the server at `wiki_url`; for `serve`, a key of its own.", also="OTTERWIKI_API_KEY", secret=True
        ),
    ] = None
    author_name: Annotated[
        str | None,
        Doc("Who commits of the wiki name.", default="as Git is configured", also="OTTERWIKI_API_AUTHOR_NAME"),
    ] = None
    author_email: Annotated[
        str | None,
        Doc("The address in these commits.", default="as Git is configured", also="OTTERWIKI_API_AUTHOR_EMAIL"),
    ] = None
    retain_page_name_case: Annotated[
        bool, Doc("Whether a new page of the wiki keeps the case of its name.", also="RETAIN_PAGE_NAME_CASE")
    ] = True
    engine: Annotated[
        str | None,
        Doc(
            "What searches the pages of a synced space: `embedded`, or the kind of a search server.",
            default="the search server where one is named, else the embedded engine",
        ),
    ] = None
    search_url: Annotated[str | None, Doc("A search server for the pages of a synced space.", also="MEILI_URL")] = None
    search_key: Annotated[
        str | None, Doc("The key of the server at `search_url`.", also="MEILI_API_KEY", secret=True)
    ] = None
    wikilink_style: Annotated[
        WikilinkStyle,
        Doc("Which side of `[[a|b]]` is the page: with `link` or `pagename` first it is `a`.", also="WIKILINK_STYLE"),
    ] = "linktitle"
    oauth_issuer: Annotated[str | None, Doc("The identity provider whose tokens `serve` accepts.")] = None
    oauth_audience: Annotated[
        str | None, Doc("The audience that its tokens must name.", default="`public_url` and `/mcp`")
    ] = None

    @property
    def label_first(self) -> bool:
        """Whether `b` is the page in `[[a|b]]`."""
        return self.wikilink_style.startswith("title")

    @property
    def names_folders(self) -> bool:
        """Whether somebody said which folders to serve."""
        return self.kb is not CURRENT_FOLDER


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as a person sees it."""

    name: str
    """Also its key in the file."""
    variable: str
    """Its name in the environment."""
    text: str
    valid: str
    """What it takes, in words."""
    default: str
    unit: str
    also: str = ""
    """Another name in the environment, or ""."""


@dataclass(frozen=True, slots=True)
class _GivenValue:
    """A value that somebody gave, and where it stands, as an error names it."""

    value: object
    where: str


def load_settings(environment: Environment = os.environ, flags: Flags | None = None) -> Settings:
    """Settings as the file, the environment and the flags give them, the later ones winning.

    Args:
        environment: Environment variables.
        flags: Values by setting; None for a flag that was not given.

    Raises:
        ConfigError: an unknown key in the file, a wrong value anywhere, or a file that cannot be read.
    """
    given = _given(environment, flags)
    return replace(default_settings(environment), **{name: _KINDS[name].read(one) for name, one in given.items()})


def origins(environment: Environment = os.environ, flags: Flags | None = None) -> list[tuple[str, str, str]]:
    """Every setting that is not at its default: name, value as text ("…" for a secret), and where it was given.

    Raises:
        ConfigError: as `load_settings` does.
    """
    found = _given(environment, flags)
    told: list[tuple[str, str, str]] = []
    for name, kind in _KINDS.items():
        if name in found:
            value = kind.read(found[name])
            told.append((name, "…" if kind.about.secret else value_as_text(value), found[name].where))
    return told


def config_file(environment: Environment = os.environ) -> tuple[Path, bool]:
    """The settings file, there or not, and whether the environment names it."""
    named = environment.get(CONFIG_VARIABLE)
    folder = Path(environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home()) / ".config")
    return (Path(named), True) if named else (folder / "commonplace" / "config.toml", False)


def _given(environment: Environment, flags: Flags | None) -> dict[str, _GivenValue]:
    """What somebody gave, the last word for each setting."""
    given = dict(_from_file(environment))
    for name in _KINDS:
        for variable in filter(None, (_KINDS[name].about.also, PREFIX + name.upper())):
            if value := environment.get(variable):
                given[name] = _GivenValue(value, variable)
    for name, flag in (flags or {}).items():
        if flag is not None:
            given[name] = _GivenValue(flag, f"--{name.replace('_', '-')}")
    return given


def default_settings(environment: Environment = os.environ) -> Settings:
    """Settings where nothing is set: the XDG base directories and the defaults."""
    home = Path(environment.get("HOME") or Path.home())
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    state = Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state")
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return Settings(
        cache_dir=cache / "commonplace",
        state_dir=state / "commonplace",
        model_dir=data / "commonplace" / "models",
        knowledge_home=home / ".knowledge-mcp",
    )


def every_setting() -> list[Setting]:
    """All settings in the order of their declaration, for help texts and the documentation."""
    return [
        Setting(
            name, PREFIX + name.upper(), kind.about.text, kind.valid, kind.default, kind.about.unit, kind.about.also
        )
        for name, kind in _KINDS.items()
    ]


def about(name: str) -> str:
    """What a setting means, in a sentence or two."""
    return _KINDS[name].about.text


def _from_file(environment: Environment) -> Iterator[tuple[str, _GivenValue]]:
    path, named = config_file(environment)
    for name, value in _table(path, required=named).items():
        if name not in _KINDS:
            raise _unknown(name, path.name)
        yield name, _GivenValue(value, f"{name} in {path.name}")


def _table(path: Path, *, required: bool) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if not required:
            return {}
        raise ConfigError(
            f"There is no settings file {path.name!r}.",
            kind="file",
            hint=f"{CONFIG_VARIABLE} names it; correct or unset it.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        raise ConfigError(f"The settings file {path.name!r} cannot be read: {reason}.", kind="file") from error
    return _parsed(text, path.name)


def _parsed(text: str, name: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - most users have no file, and a start should be quick

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings file {name!r} is no valid TOML: {error}.", kind="file") from error


def _unknown(name: str, file: str) -> ConfigError:
    from difflib import get_close_matches  # noqa: PLC0415 - only on the way out

    nearest = get_close_matches(name, _KINDS, 1)
    return ConfigError(
        f"Unknown setting {name!r} in {file}. Known: {', '.join(_KINDS)}.",
        kind="setting",
        hint=f"Did you mean {nearest[0]!r}?" if nearest else "Remove it, or use a known one.",
        nearest=nearest,
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a setting's value is read and described."""

    about: Doc
    valid: str
    default: str
    convert: Callable[[object], object]
    """Raises ValueError for what is not valid."""

    def read(self, given: _GivenValue) -> object:
        """The value.

        Raises:
            ConfigError: it is not valid.
        """
        try:
            return self.convert(given.value)
        except ValueError:
            shown = "a value that is not shown" if self.about.secret else repr(given.value)
            cut = shown if len(shown) <= MAX_SHOWN_SETTING else f"{shown[:MAX_SHOWN_SETTING]}..."
            raise ConfigError(f"Invalid {given.where}: expected {self.valid}, got {cut}.", kind="setting") from None


def _kinds() -> dict[str, _Kind]:
    hints = get_type_hints(Settings, include_extras=True)
    kinds: dict[str, _Kind] = {}
    for field in fields(Settings):
        type_, about_it = get_args(hints[field.name])
        valid, convert = value_reader(type_)
        default = "" if field.default in {MISSING, None} else value_as_text(field.default)
        kinds[field.name] = _Kind(about_it, valid, about_it.default or default, convert)
    return kinds


_KINDS = _kinds()
