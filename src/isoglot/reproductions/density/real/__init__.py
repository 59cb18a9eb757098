"""Table 1, Table 2 and Figure 4 of Zhao & Eger 2022 on a real encoder: 16 alignments, four tasks, language pairs."""
