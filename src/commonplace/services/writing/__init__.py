"""Writing documents: create, replace, edit, rename with its incoming links, delete. Each is one durable transaction."""

from commonplace.services.writing.documents import (
    MAX_BYTES,
    append,
    create,
    create_all,
    delete,
    edit,
    edit_section,
    put_all,
    replace,
    replace_once,
)
from commonplace.services.writing.intents import ANY, Change, Draft, Intent, Written
from commonplace.services.writing.renaming import rename, rename_preview

__all__ = [
    "ANY",
    "MAX_BYTES",
    "Change",
    "Draft",
    "Intent",
    "Written",
    "append",
    "create",
    "create_all",
    "delete",
    "edit",
    "edit_section",
    "put_all",
    "rename",
    "rename_preview",
    "replace",
    "replace_once",
]
