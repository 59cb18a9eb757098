"""`auto`: the method that chooses a method."""
