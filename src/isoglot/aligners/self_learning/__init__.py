"""Maps that learn from the dictionary they induce themselves."""
