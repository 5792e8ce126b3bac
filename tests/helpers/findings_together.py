"""The findings of the rules for pages in a whole collection, as of a day."""

from __future__ import annotations

from datetime import date

from commonplace.services.collections import Collection
from commonplace.services.health.page_rules import CONTRADICTING, LocatedFinding, collection_findings, record_findings


def findings_together(collection: Collection, today: date) -> list[LocatedFinding]:
    """What the rules about records, texts and links find in all pages together."""
    records = collection.index.records()
    own = [
        (record.address, finding)
        for record in records
        for finding in record_findings(collection, record, today.isoformat())
    ]
    contradicting = collection.index.links_from(None, CONTRADICTING)
    return [*own, *collection_findings(collection, records, contradicting)]
