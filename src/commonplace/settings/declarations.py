"""The settings of one process, each declared once with its meaning, unit and default."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, NewType, TypeAlias, Union, cast, get_args, get_origin

from commonplace.domain.changes import ClientCredit

CommitMode: TypeAlias = Literal["auto", "manual"]
ConfirmMode: TypeAlias = Literal["always", "bulk", "never"]
LogFormat: TypeAlias = Literal["text", "json"]
Tier: TypeAlias = Literal["read", "propose", "write", "admin"]
WikilinkStyle: TypeAlias = Literal["linktitle", "pagenametitle", "titlelink", "titlepagename"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

CURRENT_FOLDER = (Path(),)
"""Default of the setting `kb`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process."""

    cache_dir: Annotated[
        Path,
        Doc("Folder of the indexes; may be deleted at any time.", default="$XDG_CACHE_HOME/commonplace"),
    ]
    state_dir: Annotated[
        Path,
        Doc(
            "Folder of the trash, and of locks and journals of folders without Git.",
            default="$XDG_STATE_HOME/commonplace",
        ),
    ]
    model_dir: Annotated[
        Path,
        Doc("Folder of the model for searching by meaning.", default="$XDG_DATA_HOME/commonplace/models"),
    ]
    knowledge_home: Annotated[
        Path,
        Doc(
            "Folder of the store of the toolset `projects`, if no folder is named.",
            default="~/.knowledge-mcp",
            also="KNOWLEDGE_MCP_HOME",
        ),
    ]
    knowledge_log_level: Annotated[
        Literal["debug", "info", "warn", "warning", "error"],
        Doc("Log level of the toolset `projects`.", also="KNOWLEDGE_MCP_LOG_LEVEL"),
    ] = "info"
    adopt: Annotated[
        bool,
        Doc(
            "Whether the toolset `projects` may create its store in a folder that contains other files. "
            "Only the store's own files are committed there; the branch is pushed to `origin/main`."
        ),
    ] = False
    kb: Annotated[
        tuple[Path, ...],
        Doc("Folders to serve; several are separated as in PATH, or are a list in the file.", default="."),
    ] = CURRENT_FOLDER
    replica_of: Annotated[
        tuple[str, ...],
        Doc("Git repositories that are followed instead of folders: URLs or paths, or `URL#BRANCH`.", default="none"),
    ] = ()
    replica_writes: Annotated[
        bool, Doc("Whether such repositories can be written: each write is a commit, pushed before it is confirmed.")
    ] = False
    write_timeout: Annotated[
        int,
        Doc("How long one write to such a repository takes at most, whatever it waits for.", unit="seconds"),
    ] = 10
    node_url: Annotated[
        str | None,
        Doc("URL of this server for others that write to the same repositories; needs `cluster_secret`."),
    ] = None
    peer: Annotated[tuple[str, ...], Doc("URLs of those others.", default="none")] = ()
    cluster_secret: Annotated[str | None, Doc("Secret that they share.", secret=True)] = None
    replica_poll: Annotated[int, Doc("Longest interval between two reads of such a repository.", unit="seconds")] = 30
    engine_url: Annotated[
        tuple[str, ...],
        Doc("Search cluster (OpenSearch) of replicas: `https://HOST:PORT` of its nodes.", default="none"),
    ] = ()
    engine_user: Annotated[str | None, Doc("User of the search cluster.")] = None
    engine_password: Annotated[str | None, Doc("Password of that user.", secret=True)] = None
    engine_ca: Annotated[Path | None, Doc("File (PEM) of the authority that signed the cluster's certificates.")] = None
    engine_prefix: Annotated[str, Doc("Beginning of the names of all indexes in the search cluster.")] = "commonplace"
    engine_vectors: Annotated[
        tuple[str, ...],
        Doc(
            "Collections that are searched by meaning in the search cluster; `*` for all. `embed-worker` embeds them.",
            default="none",
        ),
    ] = ()
    resident: Annotated[
        bool,
        Doc(
            "Whether `mcp` runs in a process that the user's resident forks: a start takes less time and memory. "
            "Linux only; where there can be no resident, it runs by itself."
        ),
    ] = False
    resident_seconds: Annotated[int, Doc("How long a resident goes on after its last session.", unit="seconds")] = 60
    workers: Annotated[int, Doc("Number of processes in which `serve` answers; 0 for one for each core.")] = 1
    drain: Annotated[int, Doc("How long `serve` goes on after the signal to end.", unit="seconds")] = 0
    webhook_secret: Annotated[str | None, Doc("Secret of webhooks of Git hosts at `/hooks/git`.", secret=True)] = None
    notice_url: Annotated[
        tuple[str, ...],
        Doc(
            "Where `serve` posts notices of commits and proposals: URLs, each with `#folder=F&tag=T&author=A&base=NAME`"
            " and `of=changes` or `of=proposals` if not all are wanted.",
            default="none",
            secret=True,
        ),
    ] = ()
    notice_secret: Annotated[str | None, Doc("Secret with which notices are signed.", secret=True)] = None
    notice_private: Annotated[
        bool, Doc("Whether notices may go to addresses of private networks and of this machine, and over http.")
    ] = False
    source_private: Annotated[bool, Doc("Whether `add` reads URLs of private networks and of this machine.")] = False
    manifest: Annotated[
        Path | None, Doc("File that names layers to serve instead of folders. Its author can have commands started.")
    ] = None
    profile: Annotated[
        str | None,
        Doc(
            "Profile of the manifest.",
            default="the one whose `paths` contain the working folder, else `default`",
        ),
    ] = None
    personal: Annotated[
        str | None, Doc("Folder, or URL of a Git repository, of the upper of two layers; needs `shared`.")
    ] = None
    shared: Annotated[
        str | None, Doc("Folder, or URL of a Git repository, of the lower of two layers; needs `personal`.")
    ] = None
    toolset: Annotated[
        str | None,
        Doc("Toolset of an MCP server.", default="`kb` with a kb.yaml, `pages` for a synced space, else `notes`"),
    ] = None
    tier: Annotated[Tier | None, Doc("What callers of a server may do; by default that of the toolset.")] = None
    confirm: Annotated[
        ConfirmMode,
        Doc(
            "Writes over MCP of which the client asks its person first: `always`; `bulk`: deletions, moves of several "
            "files, and from 10 files or 100,000 bytes on; or `never`. A client that cannot ask gets a proposal."
        ),
    ] = "never"
    commit: Annotated[
        CommitMode,
        Doc(
            "`auto`: each write is one commit; `manual`: writes over MCP and in the browser are files until they are "
            "committed. Writes over REST and of `wiki` are always commits."
        ),
    ] = "manual"
    commit_client: Annotated[
        ClientCredit,
        Doc("How commits credit the MCP client: `none`, as `co-author`, or as `author` if no other author is given."),
    ] = "co-author"
    sweep: Annotated[
        int | None,
        Doc(
            "Interval of scans of a folder for changes that the system does not report; 0 for none.",
            unit="seconds",
            default="5 on network and shared file systems, else 0",
        ),
    ] = None
    also_read: Annotated[
        tuple[str, ...],
        Doc(
            "Further files that are read as Markdown: suffixes such as `.qmd`, and masks of names such as `README`"
            " and `*.txt`.",
            default="none",
        ),
    ] = ()
    link_roots: Annotated[
        tuple[str, ...],
        Doc(
            "Where absolute links lead, as `URL=FOLDER` (`/=src`, `/docs/=guide`), in place of what is recognised;"
            " `none` for the folder alone.",
            default="as the configuration file of the docs tree says",
        ),
    ] = ()
    status_names: Annotated[
        tuple[str, ...],
        Doc(
            "Further names of statuses in pages, as `NAME=STATUS` (`outdated=superseded`); the statuses are draft,"
            " current, superseded, retired and expired.",
            default="none",
        ),
    ] = ()
    language: Annotated[
        str | None,
        Doc(
            "The reader's language, such as `de`: of the translations of a page, search shows this one first.",
            default="that of the environment (`LANG`), else English",
        ),
    ] = None
    embed: Annotated[
        bool,
        Doc("Whether pages are embedded in the background and search uses meaning too, if a model is installed."),
    ] = True
    model: Annotated[
        Path | None,
        Doc("Folder of another model: an ONNX file with its tokenizer.json.", default="the installed one"),
    ] = None
    embedding_url: Annotated[
        str | None,
        Doc("A server that embeds instead, with the API of OpenAI, such as http://localhost:11434/v1."),
    ] = None
    embedding_model: Annotated[str | None, Doc("That server's model; required with `embedding_url`.")] = None
    embedding_key: Annotated[str | None, Doc("The key of that server.", secret=True)] = None
    rerank_url: Annotated[str | None, Doc("A server with a cross-encoder, which reorders the 20 best pages.")] = None
    rerank_model: Annotated[str | None, Doc("The model of the server at `rerank_url`, if it has several.")] = None
    rerank_key: Annotated[str | None, Doc("The key of that server.", secret=True)] = None
    log_level: Annotated[LogLevel, Doc("Log level; the log goes to standard error.")] = "warning"
    log_format: Annotated[
        LogFormat, Doc("`json`: the log is JSON, one object a line, with one line for each call, never with contents.")
    ] = "text"
    host: Annotated[str, Doc("The address that `serve` listens on.")] = "127.0.0.1"
    port: Annotated[int, Doc("The port that `serve` listens on; 0 for any free one.", also="MCP_PORT")] = 8090
    allow_origin: Annotated[
        tuple[Origin, ...],
        Doc("Origins of other servers whose pages may call `serve` from a browser.", default="none"),
    ] = ()
    rate_limit: Annotated[
        int | None,
        Doc(
            "Maximum rate of calls per key, or per address without a key; 0 for no limit.",
            unit="calls a minute",
            default="6000; no limit on the same machine if no key is needed",
        ),
    ] = None
    public_url: Annotated[
        str | None, Doc("URL at which clients reach the server behind a proxy, such as https://notes.example.org.")
    ] = None
    trusted_proxy: Annotated[
        tuple[str, ...],
        Doc(
            "Addresses or networks (`10.0.0.0/8`) of the proxies whose `X-Forwarded-…` headers are believed.",
            default="every private address",
        ),
    ] = ()
    wiki_url: Annotated[
        str | None, Doc("Server whose wiki the toolset `wiki` serves, if no folder is named.", also="OTTERWIKI_API_URL")
    ] = None
    api_key: Annotated[
        str | None,
        Doc("Key of the server at `wiki_url`; for `serve`, its own key.", also="OTTERWIKI_API_KEY", secret=True),
    ] = None
    keys: Annotated[
        Path | None,
        Doc(
            "File with the access keys of `serve`, the same for all servers; changes count at once.",
            default="`keys.json` in `state_dir`",
        ),
    ] = None
    author_name: Annotated[
        str | None,
        Doc("Author of the wiki's commits.", default="as Git is configured", also="OTTERWIKI_API_AUTHOR_NAME"),
    ] = None
    author_email: Annotated[
        str | None, Doc("The author's e-mail.", default="as Git is configured", also="OTTERWIKI_API_AUTHOR_EMAIL")
    ] = None
    retain_page_name_case: Annotated[
        bool | None,
        Doc(
            "Whether pages of the wiki keep the case of their names. Otherwise a new page gets a lower-case name, and "
            "names are shown in title case.",
            default="true, unless `home.md` and lower-case names alone show a default Otterwiki",
            also="RETAIN_PAGE_NAME_CASE",
        ),
    ] = None
    engine: Annotated[
        str | None,
        Doc(
            "Search engine for the pages of a synced space: `embedded`, or the kind of a search server.",
            default="the search server if one is named, else the embedded engine",
        ),
    ] = None
    search_url: Annotated[str | None, Doc("A search server for the pages of a synced space.", also="MEILI_URL")] = None
    search_key: Annotated[
        str | None, Doc("The key of the server at `search_url`.", also="MEILI_API_KEY", secret=True)
    ] = None
    wikilink_style: Annotated[
        WikilinkStyle | None,
        Doc(
            "Which side of `[[a|b]]` is the page: with `link` or `pagename` first it is `a`.",
            default="the side that exists; if both or neither do, `b` in the toolset `wiki`, `a` elsewhere",
            also="WIKILINK_STYLE",
        ),
    ] = None
    oauth_issuer: Annotated[str | None, Doc("The identity provider whose tokens `serve` accepts.")] = None
    oauth_audience: Annotated[
        str | None, Doc("The audience that its tokens must name.", default="`public_url` and `/mcp`")
    ] = None
    oauth_client_id: Annotated[
        str | None, Doc("The client as which browsers sign people in at the identity provider.")
    ] = None
    oauth_client_secret: Annotated[str | None, Doc("Its secret; none for a public client.", secret=True)] = None

    @property
    def names_folders(self) -> bool:
        """Whether the folders to serve were named explicitly."""
        return self.kb is not CURRENT_FOLDER


# The types of settings: descriptions and converters.


MAX_NUMBER = 65_535
Origin = NewType("Origin", str)
"""An origin in the form of the `Origin` header: scheme, host and port in lower case, without a default port."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_OWN_PORTS = {"http": ":80", "https": ":443"}


def value_as_text(value: object) -> str:
    """A value as text, in the form of an environment variable."""
    if isinstance(value, tuple):
        separator = os.pathsep if all(isinstance(item, Path) for item in cast("tuple[object, ...]", value)) else " "
        return separator.join(map(str, cast("tuple[object, ...]", value)))
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_reader(type_: object) -> tuple[str, Callable[[object], object]]:
    """The description of a type, and the function that converts a value to it."""
    if get_origin(type_) in {Union, UnionType}:
        type_ = next(option for option in get_args(type_) if option is not type(None))
    if get_origin(type_) is Literal:
        choices = cast("tuple[str, ...]", get_args(type_))
        return f"one of {', '.join(choices)}", lambda value: _choice(value, choices)
    readers: dict[object, tuple[str, Callable[[object], object]]] = {
        str: ("text", _text),
        int: ("a whole number, 0 to 65535", _number),
        bool: ("true or false", _bool),
        Path: ("the path of a folder", _path),
        tuple[Path, ...]: ("paths of folders", _paths),
        tuple[str, ...]: ("texts, separated by blanks", _texts),
        tuple[Origin, ...]: ("origins such as http://localhost:3000, separated by blanks", _origins),
    }
    return readers[type_]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _choice(value: object, choices: tuple[str, ...]) -> str:
    text = _text(value)
    choice = text if text in choices or "admin" in choices else text.lower()  # a tier grants rights: as it is written
    if choice not in choices:
        raise ValueError
    return choice


def _number(value: object) -> int:
    number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else -1
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError
    return number


def _bool(value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    word = _text(value).casefold()
    if word not in words:
        raise ValueError
    return words[word]


def _path(value: object) -> Path:
    try:
        return Path(_text(value)).expanduser()
    except RuntimeError as error:  # `~name` of an unknown user
        raise ValueError from error


def _paths(value: object) -> tuple[Path, ...]:
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_path(part) for part in cast("list[object]", parts))


def _texts(value: object) -> tuple[str, ...]:
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_text(part) for part in cast("list[object]", parts))


def _origins(value: object) -> tuple[Origin, ...]:
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_origin(part) for part in cast("list[object]", parts))


def _origin(value: object) -> Origin:
    text = _text(value).lower().removesuffix("/")
    match = _ORIGIN.fullmatch(text)
    if not match:
        raise ValueError
    own = _OWN_PORTS.get(text.partition(":")[0])
    return Origin(text.removesuffix(own) if own and match[2] == own else text)


# The documentation of a setting, declared next to its type.


@dataclass(frozen=True, slots=True)
class Doc:
    """The documentation of a setting, for help texts and the settings page."""

    text: str
    unit: str = ""
    """Unit of a number; "" for other values."""
    default: str = ""
    """The default in words, if it depends on the environment."""
    also: str = ""
    """Alternative environment variable, as used by other programs; "" if there is none."""
    secret: bool = False
    """Whether the value is secret and must not appear in messages."""
