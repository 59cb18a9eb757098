"""What the density aligners train: flows, networks and critics in torch. Imported only when one of them is fitted."""
