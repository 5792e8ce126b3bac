"""Settings: each declared once with its meaning and unit; precedence: flag, environment, file, default.

The file is `commonplace/config.toml` under `$XDG_CONFIG_HOME` (`~/.config`), or the one that `COMMONPLACE_CONFIG`
names. A setting `some_name` is `some_name` in the file, `COMMONPLACE_SOME_NAME` in the environment, and `--some-name`
on the command line if the command has it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TypeAlias, get_args, get_type_hints

from commonplace.domain.errors import ConfigError, NotFoundError, StorageError
from commonplace.settings.declarations import (
    CURRENT_FOLDER,
    CommitMode,
    Doc,
    LogLevel,
    Settings,
    Tier,
    WikilinkStyle,
    value_as_text,
    value_reader,
)

Environment: TypeAlias = Mapping[str, str]
Flags: TypeAlias = Mapping[str, str | Sequence[str] | None]

PREFIX = "COMMONPLACE_"
CONFIG_VARIABLE = "COMMONPLACE_CONFIG"
FILE_SUFFIX = "_FILE"
"""End of the name of a variable that names a file with a secret, in place of the secret."""
__all__ = [
    "CURRENT_FOLDER", "CommitMode", "LogLevel", "Setting", "Settings", "Tier", "WikilinkStyle", "about", "config_file",
    "default_settings", "every_setting", "load_settings", "origins", "unknown_variables",
]  # fmt: skip
_EXCLUDED_BY = {"kb": "replica_of", "replica_of": "kb"}
"""Settings that exclude each other: a flag for the key removes values of the other setting."""
MAX_SHOWN_SETTING = 60
"""Maximum length in characters of a wrong value in an error."""
_OF_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_|$)|$)")
"""Variables that Kubernetes sets in each container for a service whose name begins with `commonplace`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The documentation of a setting, for people."""

    name: str
    """Name of the setting, and its key in the file."""
    variable: str
    """Name of the environment variable."""
    text: str
    valid: str
    """The valid values in words."""
    default: str
    unit: str
    also: str = ""
    """Alternative environment variable; "" if there is none."""


@dataclass(frozen=True, slots=True)
class _GivenValue:
    """A given value and its origin, for errors."""

    value: object
    where: str


def load_settings(environment: Environment = os.environ, flags: Flags | None = None) -> Settings:
    """Settings from the file, the environment and the flags; later sources take precedence.

    Args:
        environment: Environment variables.
        flags: Values by setting; None for a flag that was not given.

    Raises:
        ConfigError: an unknown key in the file, an invalid value, or an unreadable file.
    """
    values = _given(environment, flags)
    return replace(default_settings(environment), **{name: _KINDS[name].read(value) for name, value in values.items()})


def origins(environment: Environment = os.environ, flags: Flags | None = None) -> list[tuple[str, str, str]]:
    """Every setting that is not a default: name, value as text ("…" for a secret), and origin.

    Raises:
        ConfigError: same as `load_settings`.
    """
    sources = _given(environment, flags)
    rows: list[tuple[str, str, str]] = []
    for name, kind in _KINDS.items():
        if name in sources:
            value = kind.read(sources[name])
            rows.append((name, "…" if kind.about.secret else value_as_text(value), sources[name].where))
    return rows


def config_file(environment: Environment = os.environ) -> tuple[Path, bool]:
    """The path of the settings file, which may be missing, and whether the environment names it."""
    named = environment.get(CONFIG_VARIABLE)
    home = Path(environment.get("HOME") or Path.home())
    folder = _base_folder(environment, "XDG_CONFIG_HOME", home / ".config")
    return (Path(named), True) if named else (folder / "commonplace" / "config.toml", False)


def unknown_variables(environment: Environment = os.environ) -> list[str]:
    """A sentence for each variable that has the prefix of settings and is none, without its value."""
    prefixes = {PREFIX + name.upper() for name in _KINDS} | {CONFIG_VARIABLE}
    prefixes |= {f"{PREFIX}{name.upper()}{FILE_SUFFIX}" for name, kind in _KINDS.items() if kind.about.secret}
    found_names = {name for name in environment if name.upper().startswith(PREFIX)} - prefixes
    names = [name.removeprefix(PREFIX) for name in prefixes]
    return [_ignored(name, names) for name in sorted(found_names) if not _OF_KUBERNETES.search(name)]


def _ignored(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    nearest = get_close_matches(name.upper().removeprefix(PREFIX), names, 1)
    meant = f"Did you mean {PREFIX}{nearest[0]}?" if nearest else "docs/settings.md lists all."
    return f"The environment variable {name[:MAX_SHOWN_SETTING]} is no setting and is ignored. {meant}"


def _base_folder(environment: Environment, name: str, default: Path) -> Path:
    """A base directory of the XDG specification. A relative path is invalid there and is ignored."""
    path = Path(environment.get(name) or default)
    return path if path.is_absolute() else default


def _given(environment: Environment, flags: Flags | None) -> dict[str, _GivenValue]:
    """The given values by setting; later sources take precedence."""
    file = dict(_from_file(environment))
    for name in _KINDS:
        for variable in filter(None, (_KINDS[name].about.also, PREFIX + name.upper())):
            if value := environment.get(variable):
                file[name] = _GivenValue(value, variable)
            if _KINDS[name].about.secret and (path := environment.get(f"{variable}{FILE_SUFFIX}")):
                file[name] = _GivenValue(_secret_in(Path(path), f"{variable}{FILE_SUFFIX}"), variable)
    for name, flag in _with_remotes(flags or {}).items():
        file.pop(_EXCLUDED_BY.get(name, ""), None)
        file[name] = _GivenValue(flag, f"--{name.replace('_', '-')}")
    return file


def _secret_in(path: Path, variable: str) -> str:
    """The secret in a file, such as one that is mounted.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"The file of {variable} cannot be read: {reason}.", kind="setting", hint="Give a file with the secret."
        ) from error


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _with_remotes(flags: Flags) -> Flags:
    """The given flags, with the URLs in `kb` moved to `replica_of`.

    Raises:
        ConfigError: both folders and remotes are given.
    """
    given_remotes = {name: flag for name, flag in flags.items() if flag is not None}
    texts, also = (_listed(given_remotes.get(name, ())) for name in ("kb", "replica_of"))
    remotes = [text for text in texts if is_remote(text)]
    if not remotes and not (texts and also):
        return given_remotes
    if len(remotes) < len(texts):
        raise ConfigError(
            "Folders and --replica-of are named.", kind="replica", hint="Name folders, or remotes to follow."
        )
    del given_remotes["kb"]
    return {**given_remotes, "replica_of": [*remotes, *also]}


def default_settings(environment: Environment = os.environ) -> Settings:
    """Settings without any given values: the XDG base directories and the defaults."""
    home = Path(environment.get("HOME") or Path.home())
    cache = _base_folder(environment, "XDG_CACHE_HOME", home / ".cache")
    state = _base_folder(environment, "XDG_STATE_HOME", home / ".local" / "state")
    data = _base_folder(environment, "XDG_DATA_HOME", home / ".local" / "share")
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
    """The documentation of a setting, in a sentence or two."""
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
            kind="setting",
            hint=f"{CONFIG_VARIABLE} names it; correct or unset it.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        raise ConfigError(f"The settings file {path.name!r} cannot be read: {reason}.", kind="setting") from error
    return _parsed(text, path.name)


def _parsed(text: str, name: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - most users have no file, and imports delay the start

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings file {name!r} is not valid TOML: {error}.", kind="setting") from error


def _unknown(name: str, file: str) -> ConfigError:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for an error

    nearest = get_close_matches(name, _KINDS, 1)
    return ConfigError(
        f"Unknown setting {name!r} in {file}. Known: {', '.join(_KINDS)}.",
        kind="setting",
        hint=f"Did you mean {nearest[0]!r}?" if nearest else "Remove it, or use a known one.",
        nearest=nearest,
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """The parser and the documentation of a setting's value."""

    about: Doc
    valid: str
    default: str
    convert: Callable[[object], object]
    """Converts a value; raises ValueError if it is invalid."""

    def read(self, value: _GivenValue) -> object:
        """Parse a value.

        Raises:
            ConfigError: the value is invalid.
        """
        try:
            return self.convert(value.value)
        except ValueError:
            shown = "a value that is not shown" if self.about.secret else repr(value.value)
            cut = shown if len(shown) <= MAX_SHOWN_SETTING else f"{shown[:MAX_SHOWN_SETTING]}..."
            raise ConfigError(f"Invalid {value.where}: expected {self.valid}, got {cut}.", kind="setting") from None


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


# Checks of named folders.


def names_layers(settings: Settings) -> bool:
    """Whether layers are served instead of separate folders."""
    return not (settings.manifest is None and settings.personal is None and settings.shared is None)


def is_remote(text: str) -> bool:
    """Whether a text names a Git remote: it contains `://`. Other texts name folders."""
    return "://" in text


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or a link to one.

    Raises:
        StorageError: kind "folder": this cannot be determined, usually because a parent folder is not accessible.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it contains a null byte"
        raise StorageError(
            f"The folder {path.name!r} cannot be looked at: {reason}.",
            kind="folder",
            hint="Give this user permission to enter the folders above it, or name another folder.",
        ) from error


def in_git(folder: Path) -> bool:
    """Whether a folder is in a Git work tree; False if that cannot be determined."""
    real = folder.resolve()
    return any(os.path.exists(parent / ".git") for parent in (real, *real.parents))


def require_folders(paths: Sequence[Path]) -> None:
    """Check that paths from the command line are folders. Errors name the path as it was given.

    Raises:
        NotFoundError: kind "folder": the path does not exist or is a file.
        StorageError: same as `is_folder`.
    """
    for path in paths:
        if is_folder(path.expanduser()):
            continue
        if os.path.exists(path.expanduser()):
            hint = f"Name its folder: {path.parent}"
            raise NotFoundError(f"{str(path)!r} is a file, not a folder.", kind="folder", hint=hint)
        raise NotFoundError(f"There is no folder {str(path)!r}.", kind="folder", hint="Name one that exists: -C PATH.")
