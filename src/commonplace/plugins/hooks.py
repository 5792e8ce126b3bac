"""The interface of a plugin's class. Only `name` is required; every other attribute is optional."""

from __future__ import annotations

GROUPS = ("commonplace.plugins", "pyrite.plugins")
"""Entry-point groups; the older one is last."""

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
"""Names of a plugin's methods. What a method returns is checked: an invalid item is skipped, logged once and listed by
`commonplace doctor`.

- `get_mcp_tools(tier)` returns `{name: {"description", "inputSchema", "handler"}}`; a tool belongs to the lowest tier
  that returns it, and `handler(arguments)` returns an object. In place of `handler` a tool may have
  `converse(arguments, client)`, which returns text or a list of content blocks in the protocol's form. Its `client` is
  a `Peer`, which can request input and report progress. In the newer era a request for input ends the call, and
  `converse` is called again with the client's answers.
- `get_mcp_prompts()` returns `{name: {"description", "arguments"?, "render"}}` with arguments such as
  `[{"name", "description"?, "required"?}]`; `render(arguments, client)` returns text or a list of
  `{"role", "content": block}`.
- `get_mcp_resources()` returns `{uri: {"name", "description"?, "mimeType"?, "read"}}`; a `{variable}` in the URI
  matches one part of it, and `read(variables)` returns text or bytes.
- `get_entry_types()` returns `{name: type}` with types as in `kb.yaml`, or classes or objects. Their fields are read
  from dataclass fields, annotations, plain attributes or an attribute `fields`: type, default, whether it is required,
  and the options of a `Literal` or an `Enum`.
- `get_relationship_types()` returns `{relation: inverse}` (or `{relation: {"inverse": ...}}`).
- `get_validators()` returns functions `(entry_type, data, context)` that return
  `[{"field", "rule", "expected", "got", "severity"?}]`.
- `get_hooks()` returns `{"before_save" | "after_save" | "before_delete" | "after_delete" | "before_index": [hook]}`
  with `hook(entry, context)`, where `entry` is a copy whose fields are items and attributes. An exception of a hook
  before a save or a deletion prevents the write; a hook that does not return within 5 seconds is skipped.
  `before_index` is called when an entry that was written here is durable and not yet searchable. Exceptions of hooks
  after a write are logged. These hooks run one after the other in a thread of the plugin, and the write waits for them
  at most 100 milliseconds.
- `get_kb_presets()` returns `{name: kb.yaml as an object}`; `kb_manage` with `set_schema` starts from one that its
  schema names as `{"preset": name}`.
- `get_orient_supplement(kb_name, kb_type)` returns an object that `kb_orient` includes.
- `get_cli_commands()` returns `{name: function}` or a list of such pairs, each a subcommand of `commonplace`. The
  function's parameters are its arguments and options, and its result is the exit code. A `typer.Typer` in place of a
  function is a subcommand with its own commands. The product's own commands cannot be replaced.
- `set_context(context)` is called with a `PluginContext`.
"""
