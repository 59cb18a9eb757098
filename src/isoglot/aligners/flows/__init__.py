"""Maps by density: Real-NVP, networks and mixtures."""
