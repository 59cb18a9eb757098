"""Maps found together with a matching of words, by optimal transport."""
