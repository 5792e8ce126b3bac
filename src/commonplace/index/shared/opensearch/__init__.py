"""The adapter of OpenSearch: `domain.cluster.shared_index` on the official client."""
