"""Checks of a folder as an OKF bundle."""

from __future__ import annotations

from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.findings import finding_of
from commonplace.services.checks import BundleReport
from commonplace.services.collections import Collection
from commonplace.services.findings import Issue
from commonplace.toolsets.cascade.rules.okf import nonconformities


def check_bundle(collection: Collection) -> BundleReport:
    """Check every file of a folder against the rules of OKF v0.2. Read-only; needs no index."""
    addresses = sorted(address for address, _ in collection.store.scan())
    problems: list[Issue] = []
    for address in addresses:
        try:
            found = nonconformities(address, collection.store.read(address))
        except (NotFoundError, StorageError) as error:
            found = [finding_of("unreadable", str(error))]
        problems += (
            Issue(
                collection=collection,
                path=address.path,
                line=finding.line,
                rule=finding.rule,
                severity=finding.severity,
                message=finding.message,
            )
            for finding in found
        )
    return BundleReport(len(addresses), tuple(problems))
