"""Who may do what over HTTP: keys, tokens of an identity provider, tiers, collections and rates."""
