"""The adapter for OpenSearch: implements `domain.cluster.shared_index` with the official client."""
