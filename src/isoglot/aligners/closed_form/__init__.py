"""Maps that one decomposition finds, and the baselines."""
