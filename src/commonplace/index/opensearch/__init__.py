"""The adapter for OpenSearch: implements `domain.cluster` with the official client."""

from __future__ import annotations
