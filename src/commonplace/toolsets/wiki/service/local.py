"""The wiki of a local folder."""

from __future__ import annotations

from dataclasses import replace

from commonplace.services.collections import Collection
from commonplace.toolsets.wiki.rules.wiki import Wiki
from commonplace.toolsets.wiki.service.attachments import LocalAttachments
from commonplace.toolsets.wiki.service.note_queries import LocalNoteQueries
from commonplace.toolsets.wiki.service.note_versions import LocalNoteVersions
from commonplace.toolsets.wiki.service.notes import LocalNotes, WikiOptions


def local_wiki(collection: Collection, options: WikiOptions) -> Wiki:
    """The wiki of a collection. Each write is one commit if the folder is in a Git repository."""
    index = collection.index.preferring_last()
    collection = replace(collection, store=collection.store.committing(), index=index)
    return Wiki(
        LocalNotes(collection, options),
        LocalNoteQueries(collection),
        LocalAttachments(collection, options),
        LocalNoteVersions(collection, options),
    )
