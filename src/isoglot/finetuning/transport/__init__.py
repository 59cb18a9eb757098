"""Transport between the words of sentence pairs, all pairs of a batch in one solve."""
