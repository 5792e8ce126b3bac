"""A wiki whose notes lie in a folder here."""

from __future__ import annotations

from dataclasses import replace

from commonplace.domain.wiki import Wiki
from commonplace.services.collections import Collection
from commonplace.services.wiki.attachments import LocalAttachments
from commonplace.services.wiki.finding import LocalFinding
from commonplace.services.wiki.notes import Customs, LocalNotes


def local_wiki(collection: Collection, customs: Customs) -> Wiki:
    """The notes of a collection; each write is one commit where there is Git."""
    collection = replace(collection, store=collection.store.committing())
    return Wiki(LocalNotes(collection, customs), LocalFinding(collection), LocalAttachments(collection, customs))
