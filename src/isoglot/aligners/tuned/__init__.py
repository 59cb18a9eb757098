"""Maps tuned step by step for a retrieval criterion."""
