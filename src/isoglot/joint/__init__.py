"""Joint-Align: text of several languages trained together, words reallocated, the rest aligned (Wang et al. 2020)."""
