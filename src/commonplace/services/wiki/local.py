"""A wiki whose notes lie in a folder here."""

from __future__ import annotations

from dataclasses import replace

from commonplace.domain.wiki import Wiki
from commonplace.services.collections import Collection
from commonplace.services.wiki.attachments import LocalAttachments
from commonplace.services.wiki.note_queries import LocalNoteQueries
from commonplace.services.wiki.notes import LocalNotes, WikiOptions


def local_wiki(collection: Collection, options: WikiOptions) -> Wiki:
    """The notes of a collection; each write is one commit where there is Git."""
    collection = replace(collection, store=collection.store.committing())
    return Wiki(LocalNotes(collection, options), LocalNoteQueries(collection), LocalAttachments(collection, options))
