"""What keeps a base trustworthy: pages out of date, said twice, that lead nowhere, or that hold what no page should."""
