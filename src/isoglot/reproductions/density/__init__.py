"""Zhao & Eger 2022: the simulation, its claims, and the tasks of Table 1 on real encoders."""
