from isoglot.aligners import Aligner, LinearAlignment, method, procrustes


@method("trimmed-rotation", "a rotation learned without the worst pairs", supervision="supervised")
class TrimmedRotation(Aligner):
    keep: float = 0.8

    def _fit(self, problem):
        X, Y = problem.paired
        best = ((X @ procrustes(X, Y) - Y) ** 2).sum(axis=1).argsort()[: int(self.keep * len(X))]
        return LinearAlignment.learned(W_src=procrustes(X[best], Y[best]))
