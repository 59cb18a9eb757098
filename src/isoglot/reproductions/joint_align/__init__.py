"""Wang et al. 2020: the ablation of Tables 1 and 2."""
