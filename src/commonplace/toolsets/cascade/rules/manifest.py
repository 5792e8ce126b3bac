"""The manifest: layers with their levels and sources, in one list or in profiles. Manifests are untrusted input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast, get_args
from urllib.parse import quote

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.sources import url_parts

Source: TypeAlias = Literal["okf-local", "files", "live", "git", "github", "mcp"]
SOURCES: tuple[Source, ...] = get_args(Source)
MANIFEST_KEYS = ("layers", "profiles", "projects")
PROFILE_KEYS = ("layers", "paths")
LAYER_KEYS = (
    "name",
    "level",
    "source",
    "path",
    "url",
    "repo",
    "ref",
    "paths",
    "command",
    "args",
    "live",
    "git",
    "apiBase",
)
CHECKOUT_KEYS = ("retentionDays", "profileName")
NEUTRAL_KEYS = frozenset(
    {"auth", "cache", "description", "label", "origin", "packs", "pendingSources", "pendingSourcesOwnerUserId"}
    | {"pullTtlSeconds", "settings", "version", "$schema"}
)
"""Keys of other programs that do not change which text is read (docs/cascade.md says why)."""
DEFAULT_PROFILE = "default"
NEAR = 0.5
"""Minimum similarity, by `difflib`, of a misspelt key to the key that an error suggests."""
RETENTION_DAYS = 14
"""Days for which captures are listed in a layer that has a key `git` and does not say for how long."""

_LEVEL = re.compile(r"[+-]?[0-9]{1,9}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*/(?!\.\.?$)[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_SENSITIVE = (
    r"(?:token|api[-_]?key|secret|passw(?:or)?d|private[-_]?key|client[-_]?secret|credentials?|authorization|cookie)"
)
_SECRET_OPTION = re.compile(rf"(?i)--?(?:[a-z0-9]+[-_])*{_SENSITIVE}")
_KNOWN_FORM = (
    r"(?:github_pat_|gh[pousr]_|glpat-|npm_|xox[baprs]-|sk-)[\w-]{12,}|(?-i:\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)"
    r"|\beyJ[\w-]{4,}\.eyJ[\w-]{4,}\.|://[^/\s:@]*:[^/\s@]+@"
)
"""Matches what is a credential by its own form: tokens of well-known services, and URLs with a password."""
_SECRET = re.compile(
    rf"(?i){_KNOWN_FORM}|\bbearer\s+[\w.~+/-]{{8,}}|(?:^|[^a-z]){_SENSITIVE}[\"']?\s*[=:]\s*(?!\$|\d+$)\S{{4,}}"
)
"""Matches a credential in an argument of a command."""
_SECRET_IN_TEXT = re.compile(
    rf"(?i){_KNOWN_FORM}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bbearer\s+[\w.~+/-]{{20,}}"
    rf"|(?:^|[^a-z]){_SENSITIVE}[\"']?\s*[=:]\s*[\"']?[\w.~+/=-]{{20,}}"
)
"""Matches a credential in prose, in which `token: expired` is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSpec:
    """One layer of a manifest."""

    name: str
    """One line, unique in the manifest."""
    level: int
    """A higher level takes precedence."""
    path: str = ""
    """Folder or remote, as written; "" for a foreign graph. A remote may have `#` and a branch or a commit."""
    remote: bool = False
    """Whether `path` is a Git remote even if it is no URL."""
    paths: tuple[str, ...] = ()
    """Masks of the files of a remote that are read, such as `docs/**`; () for all."""
    command: tuple[str, ...] = ()
    """Program and arguments of a foreign graph, as written; () for a folder or remote."""
    live: bool = False
    """Whether agents write captures into the folder."""
    retention_days: int | None = None
    """Days for which captures are listed and searched; None for ever."""
    author: str = ""
    """Author of captures, if the folder's repository has no identity."""

    @property
    def is_remote(self) -> bool:
        """Whether the layer follows a Git remote."""
        return self.remote or "://" in self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The layers that a manifest gives for one working folder."""

    layers: tuple[LayerSpec, ...]
    """The layers in the manifest's order."""
    profile: str = ""
    """Name of the profile; "" without profiles."""
    warning: str = ""
    """A sentence that names the keys without effect; "" without such keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChoice:
    """The profile that the user names, and the working folder that otherwise decides."""

    named: str | None = None
    """The name that the user gives."""
    depth: Callable[[str], int] = lambda _: 0
    """The number of parts of a folder's path, as written in the manifest; 0 unless it contains the working folder."""


def parse_manifest(text: str, file: str, choice: ProfileChoice | None = None) -> Manifest:
    """The layers of a manifest.

    Args:
        text: The manifest's text.
        file: The manifest's file name, for messages.
        choice: What decides the profile; None for the default one.

    Raises:
        ConfigError: the text is not a manifest, a value is invalid, or there is no such profile.
    """
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _refused(file, "it is not valid JSON") from None
    return _Reader(file).manifest(loaded, choice or ProfileChoice())


def two_layers(personal: str, shared: str) -> tuple[LayerSpec, ...]:
    """The layers if two folders are configured instead of a manifest."""
    return (
        LayerSpec(name="personal", level=3, path=personal),
        LayerSpec(name="shared", level=0, path=shared),
    )


def resolved_paths(layer: LayerSpec, absolute: Callable[[str], str]) -> LayerSpec:
    """The layer with absolute paths.

    Args:
        layer: The layer of the manifest.
        absolute: Returns the absolute path of a path as written; called for the folder or remote, and for the parts of
            the command that begin with `./`, `../` or `~`.
    """
    command = tuple(absolute(part) if part.startswith(("./", "../", "~")) else part for part in layer.command)
    path = absolute(layer.path) if layer.path and not _is_host(layer) else layer.path
    if layer.remote and path.startswith("/"):
        place, _, reference = path.partition("#")
        path = f"file://{quote(place)}{'#' if reference else ''}{reference}"
    return replace(layer, path=path, command=command)


def names_secret(text: str) -> bool:
    """Whether a text seems to contain a credential."""
    return _SECRET_IN_TEXT.search(text) is not None


def _is_host(layer: LayerSpec) -> bool:
    """Whether a remote is written `host:path`, as for scp(1)."""
    return layer.remote and ":" in layer.path.partition("/")[0]


class _Reader:
    """Reads one manifest.

    Args:
        file: The manifest's file name, for messages.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._neutral: dict[str, None] = {}
        """The keys without effect, each with its place."""

    def manifest(self, loaded: object, choice: ProfileChoice) -> Manifest:
        content = cast("Mapping[str, object]", loaded if isinstance(loaded, dict) else {})
        if "layers" in content or "profiles" in content or not content:
            self._require_known(content, MANIFEST_KEYS, "it")
        profiles = self._profiles(content)
        name = self._profile(content, profiles, choice)
        chosen = profiles[name] if name else content
        whose = f"profile {name!r}" if name else "it"
        if chosen is not content:
            self._require_known(chosen, PROFILE_KEYS, whose)
        layers = self._layers(chosen, whose)
        neutral = ", ".join(self._neutral)
        warning = f"The manifest {self._file!r} has keys without effect here: {neutral}." if neutral else ""
        return Manifest(layers=layers, profile=name, warning=warning)

    def _layers(self, chosen: Mapping[str, object], whose: str) -> tuple[LayerSpec, ...]:
        entries = chosen.get("layers")
        if not isinstance(entries, list):
            nearest = next(iter(get_close_matches("layers", chosen, 1, NEAR)), "")
            raise self._refused(f'{whose} has no list "layers"' + (f", but a key {nearest!r}" if nearest else ""))
        layers: dict[str, LayerSpec] = {}
        for number, entry in enumerate(cast("list[object]", entries), 1):
            layer = self._layer(entry, number)
            if layer.name in layers:
                raise self._refused(f"the name {layer.name!r} is given to two layers")
            layers[layer.name] = layer
        if len(live := [layer.name for layer in layers.values() if layer.live]) > 1:
            raise self._refused(f"{live[0]!r} and {live[1]!r} are both live; captures are written into one layer")
        return tuple(layers.values())

    def _profiles(self, content: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
        """The profiles by name. Layers beside profiles are the default one."""
        profiles = content.get("profiles", {})
        if not isinstance(profiles, dict) or not all(
            isinstance(profile, dict) for profile in cast("dict[str, object]", profiles).values()
        ):
            raise self._refused('its "profiles" are not objects by name')
        by_name = dict(cast("dict[str, Mapping[str, object]]", profiles))
        return {**by_name, DEFAULT_PROFILE: content} if by_name and "layers" in content else by_name

    def _profile(
        self, content: Mapping[str, object], profiles: Mapping[str, Mapping[str, object]], choice: ProfileChoice
    ) -> str:
        """The name of the chosen profile; "" if the manifest has none."""
        if not profiles:
            if choice.named not in {None, DEFAULT_PROFILE}:
                raise self._refused(f"it has no profiles, so none named {choice.named!r}")
            return ""
        name = self._profile_of_folder(content, profiles, choice) if choice.named is None else choice.named
        if name not in profiles:
            nearest = get_close_matches(name, profiles, 1, NEAR)
            meant = f"; did you mean {nearest[0]!r}?" if nearest else f"; there are {', '.join(profiles)}"
            raise self._refused(f"it has no profile {name[:80]!r}{meant}")
        return name

    def _profile_of_folder(
        self, content: Mapping[str, object], profiles: Mapping[str, Mapping[str, object]], choice: ProfileChoice
    ) -> str:
        """The name of the profile of the deepest folder that contains the working folder."""
        depths = [(choice.depth(path), name) for path, name in self._mapped(content, profiles)]
        deepest = max((depth for depth, _ in depths), default=0)
        names = {name for depth, name in depths if depth == deepest and depth} or {DEFAULT_PROFILE}
        if len(names) > 1:
            raise self._refused(f"the working folder belongs to the profiles {' and '.join(sorted(names))}")
        return names.pop()

    def _mapped(
        self, content: Mapping[str, object], profiles: Mapping[str, Mapping[str, object]]
    ) -> list[tuple[str, str]]:
        """Folders with the name of the profile that is read in them: `paths` of profiles, and `projects`."""
        mapped: list[tuple[str, str]] = []
        for name, profile in profiles.items():
            own = () if profile is content else profile.get("paths")
            mapped += [(path, name) for path in self._texts(own, f'the "paths" of profile {name!r}')]
        projects = content.get("projects", {})
        if not isinstance(projects, dict):
            raise self._refused('its "projects" are not names of profiles by folder')
        for path, name in cast("dict[str, object]", projects).items():
            if not isinstance(name, str):
                raise self._refused(f"the project {path[:80]!r} names no profile")
            mapped.append((path, name))
        return mapped

    def _layer(self, entry: object, number: int) -> LayerSpec:
        if not isinstance(entry, dict):
            raise self._refused(f"layer {number} is not an object")
        content = cast("Mapping[str, Json]", entry)
        name = _text(content.get("name"))
        if not name or not name.isprintable():
            raise self._refused(f'layer {number} has no "name", a text of one line')
        self._require_known(content, LAYER_KEYS, f"layer {name!r}")
        spec = LayerSpec(name=name, level=self._level(content.get("level"), name))
        source = content.get("source", "okf-local")
        if source not in SOURCES:
            raise self._refused(f'the "source" of layer {name!r} is not one of {", ".join(SOURCES)}')
        match source:
            case "mcp":
                return replace(spec, command=self._command(content, name))
            case "github":
                spec = replace(spec, path=self._github(content, name), remote=True)
            case "git":
                spec = replace(spec, path=self._remote(content, name), remote=True)
            case _:
                spec = replace(spec, path=self._required(content, "path", name))
        return self._followed(spec, content) if spec.is_remote else self._folder(spec, content, live=source == "live")

    def _folder(self, spec: LayerSpec, content: Mapping[str, Json], *, live: bool) -> LayerSpec:
        """The layer of a folder, with what its keys `live` and `git` say of captures."""
        if extra := next((key for key in ("ref", "paths") if key in content), ""):
            raise self._refused(f'"{extra}" of layer {spec.name!r} needs a remote: the source "git" or "github"')
        is_live = content.get("live", live)
        if not isinstance(is_live, bool):
            raise self._refused(f'"live" of layer {spec.name!r} is not true or false')
        if content.get("git") is None:
            return replace(spec, live=is_live)
        checkout = content["git"]
        if not isinstance(checkout, dict):
            raise self._refused(f'"git" of layer {spec.name!r} is not an object')
        self._require_known(checkout, CHECKOUT_KEYS, f'"git" of layer {spec.name!r}')
        days = checkout.get("retentionDays", RETENTION_DAYS)
        if not isinstance(days, int) or isinstance(days, bool) or days < 0:
            raise self._refused(f'"retentionDays" of layer {spec.name!r} is not a number of days')
        return replace(spec, live=is_live, retention_days=days, author=_text(checkout.get("profileName")))

    def _level(self, value: Json, name: str) -> int:
        if isinstance(value, str) and _LEVEL.fullmatch(value.strip()):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._refused(f'the "level" of layer {name!r} is not an integer')
        return value

    def _github(self, content: Mapping[str, Json], name: str) -> str:
        repository = self._required(content, "repo", name)
        if not _REPOSITORY.fullmatch(repository):
            raise self._refused(f'the "repo" of layer {name!r} is not OWNER/NAME')
        api = content.get("apiBase")
        host = "github.com" if api is None else url_parts(api).netloc if isinstance(api, str) else ""
        if not host or "@" in host or host.startswith("-"):
            raise self._refused(f'the "apiBase" of layer {name!r} is not a URL without credentials')
        return f"https://{host.removeprefix('api.')}/{repository.removesuffix('.git')}.git"

    def _remote(self, content: Mapping[str, Json], name: str) -> str:
        key = next((key for key in ("url", "repo", "path") if key in content), "url")
        remote = self._required(content, key, name)
        if remote.startswith("-") or "::" in remote:
            raise self._refused(f'the "{key}" of layer {name!r} is not an address of a repository')
        return remote

    def _followed(self, spec: LayerSpec, content: Mapping[str, Json]) -> LayerSpec:
        """The layer of a remote, with what its keys `paths` and `ref` say of its files and its branch or commit."""
        if "live" in content or "git" in content:
            raise self._refused(f"layer {spec.name!r} follows a remote and cannot be live; captures need a folder")
        spec = replace(spec, paths=self._texts(content.get("paths"), f'the "paths" of layer {spec.name!r}'))
        reference = content.get("ref")
        if reference is None:
            return spec
        if not isinstance(reference, str) or not reference.strip() or reference.startswith("-"):
            raise self._refused(f'the "ref" of layer {spec.name!r} is not a branch or commit')
        if "#" in spec.path:
            raise self._refused(f'layer {spec.name!r} names a branch in its address and in "ref"')
        return replace(spec, path=f"{spec.path}#{reference.strip().removeprefix('refs/heads/')}")

    def _command(self, content: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """The program of a foreign graph and its arguments.

        A credential among them is an error: everyone who reads the manifest or lists processes sees it.
        """
        arguments = self._texts(content.get("args"), f'the "args" of layer {name!r}')
        command = (self._required(content, "command", name), *arguments)
        for part, following in zip(command, (*command[1:], ""), strict=True):
            is_option = _SECRET_OPTION.fullmatch(part) and following and not following.startswith(("-", "$"))
            if is_option or _SECRET.search(part):
                raise self._refused(
                    f"the arguments of layer {name!r} hold a credential. Put it into an environment variable that "
                    "the command reads: the command gets the environment of this program, except its own variables"
                )
        return command

    def _require_known(self, content: Mapping[str, object], layer_keys: tuple[str, ...], whose: str) -> None:
        """Warn of a key without effect. Raise an error for any other unknown key: it is probably misspelt."""
        for key in content:
            if key in layer_keys:
                continue
            if key in NEUTRAL_KEYS:
                self._neutral[f'"{key}"' + ("" if whose == "it" else f" ({whose})")] = None
                continue
            nearest = get_close_matches(key.lower(), layer_keys, 1, NEAR)
            meant = f"; did you mean {nearest[0]!r}?" if nearest else f"; known are {', '.join(layer_keys)}"
            raise self._refused(f"{whose} has an unknown key {key[:80]!r}{meant}")

    def _required(self, content: Mapping[str, Json], key: str, name: str) -> str:
        value = _text(content.get(key))
        if not value or "\0" in value:
            raise self._refused(f'layer {name!r} has no "{key}", a text')
        return value

    def _texts(self, value: object, whose: str) -> tuple[str, ...]:
        if value is None:
            return ()
        items = cast("list[object]", value) if isinstance(value, (list, tuple)) else [None]
        texts = tuple(item for item in items if isinstance(item, str) and "\0" not in item)
        if len(texts) != len(items):
            raise self._refused(f"{whose} are not a list of texts")
        return texts

    def _refused(self, reason: str) -> ConfigError:
        return _refused(self._file, reason)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _refused(file: str, reason: str) -> ConfigError:
    end = "" if reason.endswith("?") else "."
    return ConfigError(f"The manifest {file!r} is not valid: {reason}{end}", kind="manifest")
