"""Options of all commands, and checks of option values.

The server's start imports this module, so it imports nothing of the domain but errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import typer

from commonplace.domain.errors import ConfigError
from commonplace.settings import Flags, Settings, about, names_layers

LAYERS_TOOLSET = "cascade"
"""Name of the toolset that serves layers."""
MAX_LIMIT = 10_000
"""Maximum number of results of one answer; `--offset` reaches further ones."""

ADOPT = "Make a store of project knowledge in a folder that holds other files; these are never committed."
"""Help text of `--adopt`."""

PageArgument: TypeAlias = Annotated[str, typer.Argument(metavar="PAGE", hidden=True)]
OptionalPageArgument: TypeAlias = Annotated[str | None, typer.Argument(metavar="PAGE", hidden=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Values of the options that every command takes."""

    kb: Annotated[
        list[str],
        typer.Option(
            "--kb",
            "-C",
            metavar="PATH",
            help="Folder of pages, or URL of a Git remote; may be repeated. Default: $COMMONPLACE_KB, else here.",
        ),
    ] = field(default_factory=list[str])
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document; errors too.")] = False
    no_color: Annotated[bool, typer.Option("--no-color", help="No styles; as NO_COLOR in the environment.")] = False
    log_level: Annotated[
        str | None, typer.Option("--log-level", metavar="LEVEL", help=about("log_level"), show_default=False)
    ] = None

    log_format: Annotated[
        str | None, typer.Option("--log-format", metavar="FORMAT", help=about("log_format"), show_default=False)
    ] = None

    def flags(self) -> Flags:
        """The settings among the options, for `load_settings`."""
        return {"kb": self.kb or None, "log_level": self.log_level, "log_format": self.log_format}


def pair(option: str, text: str) -> tuple[str, str]:
    """Split `key=value`.

    Raises:
        ConfigError: there is no `=`, or the key is empty.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"Invalid {option} {text!r}: expected KEY=VALUE, such as status=draft.", kind="option")
    return key.strip(), value


def exclusive(**given_values: object) -> None:
    """Check that at most one of these options is given.

    Raises:
        ConfigError: several of them are given.
    """
    names = [name for name, value in given_values.items() if value]
    if len(names) > 1:
        raise ConfigError(f"{' and '.join(names)} cannot be combined.", kind="option", hint="Give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerOptions:
    """Options that name layers."""

    manifest: Annotated[str | None, typer.Option(metavar="FILE", help=about("manifest"))] = None
    profile: Annotated[str | None, typer.Option(metavar="NAME", help=about("profile"))] = None
    personal: Annotated[str | None, typer.Option(metavar="DIR|URL", help=about("personal"))] = None
    shared: Annotated[str | None, typer.Option(metavar="DIR|URL", help=about("shared"))] = None

    def flags(self) -> Flags:
        """The settings among the options, for `load_settings`."""
        named = {"manifest": self.manifest, "profile": self.profile}
        return {**named, "personal": self.personal, "shared": self.shared}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaOptions:
    """Options of replicas, for commands that serve."""

    replica_of: Annotated[
        list[str] | None, typer.Option("--replica-of", metavar="URL", help=about("replica_of"), show_default=False)
    ] = None
    replica_writes: Annotated[
        bool, typer.Option("--replica-writes", help=about("replica_writes"), show_default=False)
    ] = False
    replica_poll: Annotated[str | None, typer.Option("--replica-poll", metavar="N", help=about("replica_poll"))] = None
    engine_url: Annotated[
        list[str] | None, typer.Option("--engine-url", metavar="URL", help=about("engine_url"), show_default=False)
    ] = None

    def flags(self) -> Flags:
        """The settings among the options, for `load_settings`."""
        return {
            "replica_of": self.replica_of or None,
            "replica_writes": "true" if self.replica_writes else None,
            "replica_poll": self.replica_poll,
            "engine_url": self.engine_url or None,
        }


def require_consistent_replicas(settings: Settings) -> None:
    """Check that the options of replicas are complete and compatible.

    Raises:
        ConfigError: layers and remotes are both named; or an option needs a replica, but there is none.
    """
    if settings.replica_of and names_layers(settings):
        raise ConfigError(
            "Layers and remotes to follow (--replica-of, COMMONPLACE_REPLICA_OF) are named.",
            kind="replica",
            hint="Name layers, or remotes to follow.",
        )
    if settings.replica_of:
        return
    if settings.replica_writes:
        raise ConfigError(
            "Writes to replicas are allowed, and nothing is followed.",
            kind="replica",
            hint="Name the repositories with --replica-of, or leave --replica-writes out.",
        )
    if settings.engine_url:
        raise ConfigError(
            "A search cluster is named, and nothing that is followed.",
            kind="engine",
            hint="Name the repositories with --replica-of, or leave --engine-url out. Layers are searched without it.",
        )


AtOption: TypeAlias = Annotated[
    str,
    typer.Option("--at", metavar="WHEN", help="State at a date, 'yesterday', a commit, a tag or 'before COMMIT'."),
]


def require_layers_alone(settings: Settings, *, paths: Sequence[str] | None, flags: Flags, toolset: str | None) -> None:
    """Check that the command line names nothing that cannot be combined with layers.

    Args:
        settings: The settings, which may name layers.
        paths: The folders that the command line names as arguments.
        flags: The common options of the command line, which name folders with -C.
        toolset: The toolset that the command line names.

    Raises:
        ConfigError: folders or another toolset are named together with layers; or one of two layers is missing.
    """
    if settings.profile is not None and settings.manifest is None:
        raise ConfigError("--profile needs a manifest: add --manifest FILE.", kind="manifest")
    if not names_layers(settings):
        return
    layers = "--manifest" if settings.manifest is not None else "--personal and --shared"
    kb = flags.get("kb")
    folders = [*(paths or ()), *((kb,) if isinstance(kb, str) else kb or ())]
    if folders:
        raise ConfigError(
            f"The folders to serve come from {layers}, so {folders[0]!r} cannot be served beside them.",
            kind="manifest",
            hint="Add it to the manifest as a layer, or leave the layers out.",
        )
    if toolset not in {None, LAYERS_TOOLSET}:
        raise ConfigError(
            f"The layers of {layers} are served with the toolset {LAYERS_TOOLSET!r}, not with {toolset!r}.",
            kind="manifest",
            hint=f"Leave out --toolset {toolset}, or the layers.",
        )
