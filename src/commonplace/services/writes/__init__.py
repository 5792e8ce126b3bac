"""Writes of documents: create, replace, edit, rename with incoming links, delete. Each is one durable transaction."""

from commonplace.services.writes.documents import (
    MAX_DOCUMENT_BYTES,
    append,
    create,
    create_all,
    delete,
    edit,
    edit_section,
    is_at_remote,
    put_all,
    replace,
    replace_once,
)
from commonplace.services.writes.moves import preview_moves
from commonplace.services.writes.overwrites import (
    UNCONDITIONAL,
    DocumentDraft,
    DocumentEdit,
    WriteReceipt,
    WriteRequest,
)
from commonplace.services.writes.renames import rename, rename_folder, require_moves

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "UNCONDITIONAL",
    "DocumentDraft",
    "DocumentEdit",
    "WriteReceipt",
    "WriteRequest",
    "append",
    "create",
    "create_all",
    "delete",
    "edit",
    "edit_section",
    "is_at_remote",
    "preview_moves",
    "put_all",
    "rename",
    "rename_folder",
    "replace",
    "replace_once",
    "require_moves",
]
