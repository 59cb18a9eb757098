"""The papers' experiments, one folder each: what is run, its claims, its report."""
