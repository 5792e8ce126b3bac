"""Authorization over HTTP: keys, tokens of an identity provider, tiers, collections and rates."""
