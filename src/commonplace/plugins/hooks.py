"""What a plugin's class may have. Only `name` is required; every other attribute is optional."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.peers import Peer

if TYPE_CHECKING:  # a start looks for plugins, and hardly ever finds any
    from commonplace.plugins.open_index import OpenIndex

GROUPS = ("commonplace.plugins", "pyrite.plugins")
"""Entry-point groups, the older one last."""

HOOKS = (
    "get_mcp_tools",
    "get_mcp_prompts",
    "get_mcp_resources",
    "get_entry_types",
    "get_relationship_types",
    "get_validators",
    "get_hooks",
    "get_kb_presets",
    "get_orient_supplement",
    "get_cli_commands",
    "set_context",
)
"""Names of what a plugin may offer; each is a method:

- `get_mcp_tools(tier)` returns `{name: {"description", "inputSchema", "handler"}}`; a tool belongs to the lowest tier
  that returns it, and `handler(arguments)` returns an object. In place of `handler` a tool may have
  `converse(arguments, client)`, which returns text or a list of content blocks as the protocol writes them, and to
  which `client` is a `Peer`: it can be asked for input and told of progress. What it is asked in the newer era ends
  the call for now: `converse` begins anew once the client has answered.
- `get_mcp_prompts()` returns `{name: {"description", "arguments"?, "render"}}` with arguments such as
  `[{"name", "description"?, "required"?}]`; `render(arguments, client)` returns text or a list of
  `{"role", "content": block}`.
- `get_mcp_resources()` returns `{uri: {"name", "description"?, "mimeType"?, "read"}}`; a `{variable}` in the URI stands
  for one part of it, and `read(variables)` returns text or bytes.
- `get_entry_types()` returns `{name: type}` with types as in `kb.yaml`.
- `get_relationship_types()` returns `{relation: inverse}` (or `{relation: {"inverse": ...}}`).
- `get_validators()` returns functions `(entry_type, data, context)` that return
  `[{"field", "rule", "expected", "got", "severity"?}]`.
- `get_hooks()` returns `{"before_save" | "after_save" | "before_delete" | "after_delete" | "before_index": [hook]}`
  with `hook(entry, context)`; what a hook before a save or a deletion raises stops the write. `before_index` comes when
  an entry that was written here is durable and not yet searchable; what it raises is logged.
- `get_kb_presets()` returns `{name: kb.yaml as an object}`; `kb_manage` with `set_schema` begins with one that its
  schema names as `{"preset": name}`.
- `get_orient_supplement(kb_name)` returns an object that `kb_orient` shows besides.
- `get_cli_commands()` returns `{name: function}`, each a subcommand of `commonplace` whose arguments and options are
  the function's parameters and whose exit code is what it returns; the product's own commands cannot be replaced.
- `set_context(context)` is called once with a `Context`.
"""

ValidatorFunction: TypeAlias = Callable[[str, JsonObject, "Context"], Sequence[Mapping[str, Json]]]
HookFunction: TypeAlias = Callable[[JsonObject, "Context"], object]
Handler: TypeAlias = Callable[[JsonObject], JsonObject]
Converser: TypeAlias = Callable[[JsonObject, Peer], str | Sequence[JsonObject]]
Renderer: TypeAlias = Callable[[Mapping[str, str], Peer], str | Sequence[JsonObject]]
Reader: TypeAlias = Callable[[Mapping[str, str]], str | bytes]


@runtime_checkable
class Plugin(Protocol):
    """The least that a plugin has."""

    name: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a plugin is given."""

    config: JsonObject
    """The settings that concern a plugin; no secrets and no absolute paths."""
    db: OpenIndex
    changed: Callable[[str], None]
    """Tells the clients that follow one of the plugin's resources, named by its URI, that it has changed."""
