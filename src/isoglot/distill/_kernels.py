"""The inner loop of X2Static: logistic loss against fixed contexts, and Adam on the rows that a batch touches.

The contexts come from the encoder and do not change, so static vectors do not interact: a word's row depends on its own
examples only. Rows are therefore trained one after the other instead of batch by batch. A row with its two averages
stays in the nearest cache for a whole shard, threads share no row and never wait, and the numbers equal those of
training batch by batch, whatever the number of threads.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "fastmath": True, "boundscheck": False}


@njit(**OPTIONS)
def train_rows(
    begin: Any,
    end: Any,
    rows: Any,
    starts: Any,
    examples: Any,
    steps: Any,
    contexts: Any,
    shares: Any,
    sizes: Any,
    vectors: Any,
    means: Any,
    squares: Any,
    losses: Any,
    width: Any,
    clamp: Any,
    decays: Any,
    epsilon: Any,
) -> None:
    """Train rows[begin:end], each on its examples[starts[r]:starts[r + 1]], which are in the order of their steps.

    Example e belongs to context e // width and is the target if e % width is 0, else a negative. `shares` are weights
    of a step's examples; `sizes` are Adam's step sizes including both bias corrections.
    """
    dim = vectors.shape[1]
    gradient = np.empty(dim, dtype=np.float32)
    first, second = np.float32(decays[0]), np.float32(decays[1])
    rest_first, rest_second = np.float32(1.0 - decays[0]), np.float32(1.0 - decays[1])
    eps = np.float32(epsilon)
    for r in range(begin, end):
        row = rows[r]
        vector, mean, square = vectors[row], means[row], squares[row]
        loss = 0.0
        at, last = starts[r], starts[r + 1]
        while at < last:
            step = steps[examples[at] // width]
            for i in range(dim):
                gradient[i] = np.float32(0.0)
            while at < last and steps[examples[at] // width] == step:
                context = contexts[examples[at] // width]
                score = np.float32(0.0)
                for i in range(dim):
                    score += vector[i] * context[i]
                sign = 1.0 if examples[at] % width == 0 else -1.0
                margin = sign * min(max(float(score), -clamp), clamp)
                loss += math.log1p(math.exp(-margin))
                if -clamp <= score <= clamp:
                    error = np.float32(-sign * shares[step] / (1.0 + math.exp(margin)))
                    for i in range(dim):
                        gradient[i] += error * context[i]
                at += 1
            size = np.float32(sizes[step])
            for i in range(dim):
                g = gradient[i]
                m = first * mean[i] + rest_first * g
                v = second * square[i] + rest_second * g * g
                mean[i], square[i] = m, v
                vector[i] -= size * m / (np.float32(math.sqrt(v)) + eps)
        losses[r] = loss
