"""How fast the batched Sinkhorn divergence is: forward and backward, against geomloss, POT and bare products.

    python benchmarks/sinkhorn.py                          # 24 pairs of 30 words in 768 dimensions, as WordOT trains
    python benchmarks/sinkhorn.py --batch 64 --words 50    # other sizes
    python benchmarks/sinkhorn.py --plans                  # also plans, and how near the optimum is

Everything is measured in one run, the contenders taking turns; the best of the repeats counts. Times are of the
processor, not of the clock, so that other work on the machine does not count; with one thread they are the same when
there is none. Lengths vary between half and all of the words for the rows called padded. References that are not
installed are named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from isoglot.finetuning import TransportSettings, sinkhorn_divergence, transport_plan

BLUR, SCALING = 0.05, 0.5
SETTINGS = TransportSettings(blur=BLUR, scaling=SCALING)

try:
    import geomloss
except ImportError:
    geomloss = None
try:
    import ot

    pot_batch = getattr(ot, "solve_sample_batch", None)
except ImportError:
    ot = pot_batch = None


def word_vectors(batch: int, words: int, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences and what might be their translations: vectors of length 20, in another order and noisy."""
    torch.manual_seed(0)
    size = 20 * dim**-0.5
    X = torch.randn(batch, words, dim) * size
    Y = 0.6 * X[:, torch.randperm(words)] + 0.4 * size * torch.randn(batch, words, dim)
    return X, Y


def contenders(X: torch.Tensor, Y: torch.Tensor) -> dict[str, Callable[[], None]]:
    x, y = (M.clone().requires_grad_() for M in (X, Y))
    full = torch.ones(X.shape[:2], dtype=torch.bool)
    lengths = torch.randint(X.shape[1] // 2, X.shape[1] + 1, (2, len(X), 1))
    lengths[:, 0] = X.shape[1]
    padded = torch.arange(X.shape[1]) < lengths  # (2, batch, words)

    def backward(value: torch.Tensor) -> None:
        x.grad = y.grad = None
        value.sum().backward()

    def products() -> None:
        for A, B in ((X, Y), (X, X), (Y, Y)):
            C = torch.bmm(A, B.mT)
            torch.bmm(C, B)
            torch.bmm(C.mT, A)

    def alone() -> None:
        with torch.no_grad():
            sinkhorn_divergence(x, y, full, full, SETTINGS)

    found: dict[str, Callable[[], None]] = {
        "three bare batched products": products,
        "isoglot": lambda: backward(sinkhorn_divergence(x, y, full, full, SETTINGS)),
        "isoglot, padded": lambda: backward(sinkhorn_divergence(x, y, *padded, SETTINGS)),
        "isoglot, forward alone": alone,
    }
    if geomloss is not None:
        loss = geomloss.SamplesLoss("sinkhorn", p=2, blur=BLUR, scaling=SCALING, backend="tensorized")
        found["geomloss, batched"] = lambda: backward(loss(x, y))
        found["geomloss, pair by pair, padded"] = lambda: backward(
            sum(loss(x[i, padded[0, i]], y[i, padded[1, i]]) for i in range(len(x)))
        )
    if pot_batch is not None:
        # Three calls for the debiased divergence; it knows no scaling of epsilon, so has as many iterations as we.
        def by_pot() -> None:
            options = {"reg": 2 * BLUR**2, "method": "log_sinkhorn", "max_iter": 14, "grad": "envelope"}
            pairs = ((x, y, 0.5), (x, x, -0.25), (y, y, -0.25))
            backward(sum(s * pot_batch(A, B, metric="sqeuclidean", **options).value for A, B, s in pairs))

        found["POT, batched, 14 iterations"] = by_pot
    return found


def best_of(contenders: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Seconds of processor of each, the smallest of so many turns after one to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            if turn:
                times[name].append(time.process_time() - start)
    return {name: min(found) for name, found in times.items()}


def optimality(X: torch.Tensor, Y: torch.Tensor) -> list[dict[str, Any]]:
    """How far values and gradients are from their optimum, for equal lengths and for a fifth of Y's words missing."""
    rows = []
    print("\ndistance from the optimum (float64): relative error of value and gradient, by further iterations")
    for words in (Y.shape[1], Y.shape[1] * 4 // 5):
        x, y = X[:8].double().requires_grad_(), Y[:8, :words].double()
        masks = [torch.ones(M.shape[:2], dtype=torch.bool) for M in (x, y)]

        def run(x: torch.Tensor = x, y: torch.Tensor = y, masks: list[torch.Tensor] = masks, **options: Any) -> Any:
            values = sinkhorn_divergence(x, y, *masks, TransportSettings(blur=BLUR, **options))
            return values.detach(), torch.autograd.grad(values.sum(), x)[0]

        best, slope = run(iterations=3000, tolerance=1e-3)
        for scaling, iterations in ((0.5, 0), (0.9, 0), (0.5, 10), (0.5, 100)):
            values, gradient = run(scaling=scaling, iterations=iterations)
            row = {
                "words": [X.shape[1], words],
                "scaling": scaling,
                "iterations": iterations,
                "value": float(((values - best).abs() / best).mean()),
                "gradient": float((gradient - slope).norm() / slope.norm()),
            }
            rows.append(row)
            print(
                f"  {X.shape[1]} to {words} words, scaling {scaling}, iterations {iterations:4}:"
                f"  value {row['value']:.1e}  gradient {row['gradient']:.1e}"
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--plans",
        action="store_true",
        help="also transport plans, and how near values and gradients are to their optimum",
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "sinkhorn.json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{os.cpu_count()} cores, {options.threads} thread(s), load average {os.getloadavg()[0]:.2f}")
    if geomloss is None:
        print("geomloss is not installed and left out: pip install geomloss")
    if pot_batch is None:
        print("POT with ot.solve_sample_batch (0.9.6 or later) is not installed and left out: pip install POT")
    X, Y = word_vectors(options.batch, options.words, options.dim)
    found = best_of(contenders(X, Y), options.repeats)
    least = found["three bare batched products"]
    print(f"\n{options.batch} pairs x {options.words} words x {options.dim} dimensions, forward and backward")
    for name, seconds in found.items():
        print(f"  {name:34} {seconds * 1e3:8.2f} ms {seconds / least:7.2f} times the bare products")
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "threads": options.threads,
        "load": os.getloadavg()[0],
        "shape": [options.batch, options.words, options.dim],
        "milliseconds": {name: seconds * 1e3 for name, seconds in found.items()},
        "of_bare_products": {name: seconds / least for name, seconds in found.items()},
    }
    if options.plans:
        masks = [torch.ones(M.shape[:2], dtype=torch.bool) for M in (X, Y)]

        def plan() -> None:
            transport_plan(X, Y, *masks)

        plans = best_of({"plans": plan}, 3)["plans"]
        print(f"\ntransport plans of the batch: {plans * 1e3:.0f} ms")
        result["plans_milliseconds"] = plans * 1e3
        result["optimality"] = optimality(X, Y)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
