"""What the flows train: stacks, networks and critics in torch. Imported only when one of them is fitted."""
