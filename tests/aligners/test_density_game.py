"""Matching densities without pairs: the constraints, the game, the collapse guard, bootstrapping."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isoglot import checkpoints as checkpoint
from isoglot.aligners import Bootstrap, FlowAlignment, GanRealNVP, LinearAlignment
from isoglot.aligners.base import Problem
from isoglot.aligners.flows.gan_realnvp import collapsed
from isoglot.errors import ConfigError
from isoglot.retrieval import best_permutation

torch = pytest.importorskip("torch")
pytest.importorskip("zuko")
flow = pytest.importorskip("isoglot.aligners.flows.networks.stacks")
game = pytest.importorskip("isoglot.aligners.flows.networks.critics")

RULES = GanRealNVP(
    steps=20,
    batch=64,
    rate=1e-3,
    critic_rate=1e-3,
    critic_steps=2,
    critic=32,
    lipschitz="penalty",
    weight=0.0,
    optimiser="adam",
)
TINY = {"couplings": 2, "hidden": 16, "critic": 16, "epochs": 1, "steps": 5, "critic_steps": 1, "rounds": 2}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that wait for each other take twenty times as long on a machine that has other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def short_start(monkeypatch):
    """The critics' head start of 100 steps is most of a small game."""
    monkeypatch.setattr(game, "CRITIC_START", 10)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def twins(n=300, d=10, noise=0.02, seed=0):
    """Rows and the same ones turned, slightly moved and shuffled; pairs of rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    order = rng.permutation(n)
    Y = X @ np.linalg.qr(rng.normal(size=(d, d)))[0] + noise * rng.normal(size=(n, d))
    return X.astype(np.float32), Y[order].astype(np.float32), np.stack([order, np.arange(n)], axis=1)


def right(alignment, X, Y, pairs):
    A, B = alignment.transform(X), alignment.transform(Y, "tgt")
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return ((A @ B.T)[pairs[:, 0]].argmax(axis=1) == pairs[:, 1]).mean()


def test_cross_correlation_is_that_of_numpy():
    A, B = normal(100, 6), normal(100, 6, seed=1) + 0.5 * normal(100, 6)
    correlations = np.array([np.corrcoef(A[:, i], B[:, i])[0, 1] for i in range(6)])
    found = game.cross_correlation(torch.from_numpy(A), torch.from_numpy(B))
    assert found.item() == pytest.approx(((correlations - 1) ** 2).sum(), rel=1e-4)


def test_cross_correlation_does_not_see_scale_and_shift():
    A = torch.from_numpy(normal(100, 6))
    assert game.cross_correlation(A, A).item() == pytest.approx(0, abs=1e-10)
    moved = A * torch.linspace(0.1, 4, 6) + torch.arange(6)
    assert game.cross_correlation(A, moved).item() == pytest.approx(0, abs=1e-8)
    assert game.cross_correlation(A, -A).item() == pytest.approx(6 * 4, rel=1e-4)


@pytest.mark.parametrize("name", sorted(game.CONSTRAINTS))
@pytest.mark.parametrize("constant", ["mapped", "target", "both"])
def test_constraints_have_finite_gradients_at_constant_columns(name, constant):
    """Else the optimiser would leave out every step of spaces with an empty dimension, and nothing be learned."""
    A, B = torch.from_numpy(normal(50, 4)), torch.from_numpy(normal(50, 4, seed=1))
    if constant != "target":
        A[:, 2] = 0
    if constant != "mapped":
        B[:, 2] = 0
    A.requires_grad_()
    value = game.CONSTRAINTS[name](A, B)
    (gradient,) = torch.autograd.grad(value, A)
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()


def test_graph_structure_does_not_see_rotations_but_all_else():
    A = torch.from_numpy(normal(80, 7))
    turn = torch.from_numpy(np.linalg.qr(normal(7, 7, seed=1))[0])
    assert game.graph_structure(A @ turn, A).item() == pytest.approx(0, abs=1e-10)
    assert game.graph_structure(A * 2, A).item() == pytest.approx(9, rel=1e-4)  # (4 - 1) squared
    assert game.graph_structure(A * 2, A).item() == pytest.approx(game.graph_structure(A * 20, A * 10).item(), rel=1e-4)
    assert game.graph_structure(A.flip(0), A) > 0.1


def test_sliced_distance_in_one_dimension_is_that_of_sorted_numbers():
    A, B = normal(60, 1), 2 * normal(60, 1, seed=1) + 1
    by_hand = np.mean((np.sort(A[:, 0]) - np.sort(B[:, 0])) ** 2)
    for line in (1.0, -1.0):
        found = game.sliced_distance(torch.from_numpy(A), torch.from_numpy(B), torch.tensor([[line]]))
        assert found.item() == pytest.approx(by_hand, rel=1e-5)


def test_sliced_distance_is_nothing_for_a_permuted_copy_only():
    A = torch.from_numpy(normal(90, 5))
    lines = torch.nn.functional.normalize(torch.from_numpy(normal(5, 30, seed=2)), dim=0)
    permuted = A[torch.from_numpy(np.random.default_rng(0).permutation(90))]
    assert game.sliced_distance(A, permuted, lines).item() == pytest.approx(0, abs=1e-9)
    assert game.sliced_distance(A, A * 1.1, lines) > 1e-3
    # A shift is seen in full: the mean square of its length along random lines, times the dimensions.
    shift = torch.tensor([1.0, 0, 0, 0, 0])
    assert game.sliced_distance(A, A + shift, lines).item() == pytest.approx(
        5 * float((shift @ lines).square().mean()), rel=1e-4
    )


def shifted(n=400, d=3):
    X = normal(n, d) * np.array([1.5, 1, 0.5], dtype=np.float32)
    return X, (normal(n, d, seed=1) * [1.5, 1, 0.5] + [2, -1, 1]).astype(np.float32)


def left(there, X, Y):
    lines = torch.nn.functional.normalize(torch.from_numpy(normal(X.shape[1], 50, seed=9)), dim=0)
    with torch.no_grad():
        return game.sliced_distance(there(torch.from_numpy(X)), torch.from_numpy(Y), lines).item()


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({"distance": "sliced", "rate": 5e-3}, 0.1),
        ({"distance": "critic", "rate": 3e-4}, 0.3),
        ({"distance": "critic", "rate": 1e-4, "lipschitz": "clipping"}, 0.75),
        ({"distance": "critic", "rate": 3e-4, "lipschitz": "spectral"}, 0.5),
    ],
    ids=["sliced", "penalty", "clipping", "spectral"],
)
def test_the_game_moves_both_sides_to_where_the_other_is(changes, share, monkeypatch):
    """From no linear start: the flow itself must find the shift. Critics must be quicker than the map."""
    monkeypatch.setattr(game, "CLIP", 0.1)
    X, Y = shifted()
    pair = flow.FlowPair(flow.FlowShape(3, 4, (16, 16), False))
    play = game.Game(pair, X, Y, dataclasses.replace(RULES, steps=50, critic_steps=5, **changes), (0,))
    before = left(pair.there, X, Y)
    facts = [play.epoch(number) for number in range(4)]
    assert left(pair.there, X, Y) < share * before
    assert left(pair.back, Y, X) < share * before
    assert sum(one["skipped_steps"] for one in facts) == 0
    assert np.isfinite([list(one.values()) for one in facts]).all()
    if changes.get("lipschitz") == "clipping":
        assert max(float(weights.detach().abs().max()) for weights in play.critics.parameters()) <= np.float32(0.1)


@pytest.mark.usefixtures("short_start")
@pytest.mark.parametrize("distance", ["sliced", "critic"])
def test_the_aligner_moves_the_source_from_no_start(distance):
    """The stacks' own mean and size do most of it; what the game adds must not undo that."""
    X, Y = shifted()
    settings = {**TINY, "epochs": 2, "steps": 10, "rate": 1e-3}
    del settings["rounds"]
    aligner = GanRealNVP(distance=distance, start="identity", normalise="none", score="csls-euclidean", **settings)
    alignment = aligner.fit(X, Y)
    assert not alignment.info["collapsed"]
    after = left(lambda x: torch.from_numpy(alignment.transform(x.numpy())), X, Y)
    assert after < 0.1 * left(lambda x: x, X, Y)
    np.testing.assert_allclose(alignment.inverse_transform(alignment.transform(X)), X, atol=1e-4)


def test_clipping_keeps_the_critics_weights_small(monkeypatch):
    monkeypatch.setattr(game, "CLIP", 0.02)
    X, Y = shifted()
    rules = dataclasses.replace(RULES, lipschitz="clipping", steps=3)
    play = game.Game(flow.FlowPair(flow.FlowShape(3, 2, (8, 8), False)), X, Y, rules, (0,))
    assert max(float(weights.detach().abs().max()) for weights in play.critics.parameters()) > 0.02
    play.epoch(0)
    sizes = [float(weights.detach().abs().max()) for weights in play.critics.parameters()]
    assert max(sizes) <= np.float32(0.02)
    assert min(sizes) > 0


def test_a_game_goes_on_from_its_saved_state():
    X, Y = shifted()
    shape, rules = flow.FlowShape(3, 2, (8, 8), False), dataclasses.replace(RULES, steps=4)
    whole, broken, resumed = (game.Game(flow.FlowPair(shape), X, Y, rules, (0,)) for _ in range(3))
    whole.epoch(0)
    whole.epoch(1)
    broken.epoch(0)
    resumed.fill({name: array.copy() for name, array in broken.arrays().items()})
    resumed.epoch(1)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(resumed.arrays()[name], array, err_msg=name)


def test_constraints_draw_the_same_pairs_in_whatever_order_they_come(monkeypatch):
    monkeypatch.setattr(game, "CONSTRAINT_BATCH", 50)
    X, Y, pairs = twins()
    problem = Problem(X, Y, pairs[:0], np.random.default_rng(0))
    matrix = game.Matrix(np.eye(10, dtype=np.float32))
    values = []
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(len(pairs))
        draw = game.Constraint("cross-correlation", problem, pairs[order], 1.0, False, (3,))
        values.append([draw(matrix).item() for _ in range(3)])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-4)
    assert len(set(values[0])) == 3


def test_collapse_is_seen():
    Y = normal(200, 4)
    assert not collapsed(Y[::-1] + 1, Y)
    for wrong in (Y * 0.05, Y * 50, Y * np.float32(1e30), np.zeros_like(Y), np.full_like(Y, np.nan)):
        assert collapsed(wrong, Y)
    for bad in (np.nan, np.inf):
        one = Y.copy()
        one[7, 2] = bad
        assert collapsed(one, Y)


@pytest.mark.usefixtures("short_start")
def test_a_collapsing_game_is_stopped_and_the_last_good_map_kept():
    X, Y, pairs = twins()
    settings = {**TINY, "epochs": 4, "steps": 10, "rate": 5.0, "optimiser": "adam"}
    del settings["rounds"]
    alignment = GanRealNVP(**settings).fit(X, Y)
    assert alignment.info["collapsed"]
    assert alignment.info["best_epoch"] < len(alignment.info["history"]) <= 4
    assert right(alignment, X, Y, pairs) > 0.97


def turned(n=200, angle=0.35, noise=0.03, seed=0):
    """Skewed rows, and the same ones turned a little, moved and shuffled; pairs of rows."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, 4)) * [2, 1.5, 1, 0.7]
    plane = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    order = rng.permutation(n)
    Y = (X @ np.kron(np.eye(2), plane) + noise * rng.normal(size=X.shape))[order]
    return X.astype(np.float32), Y.astype(np.float32), np.stack([order, np.arange(n)], axis=1)


def nearest_is_right(mapped, Y, pairs):
    nearest = np.square(mapped[:, None] - Y).sum(axis=2).argmin(axis=1)
    return (nearest[pairs[:, 0]] == pairs[:, 1]).mean()


@pytest.mark.parametrize("name", sorted(game.CONSTRAINTS))
def test_constraints_have_a_gradient_on_a_wrong_map(name):
    """On a permutation of all points nearly as much of one as on the true pairs, though a third of it is wrong."""
    X, Y, gold = turned()
    lengths = {}
    permutation = best_permutation(X, Y, score="csls-euclidean")
    true = {tuple(row) for row in gold.tolist()}
    assert np.mean([tuple(row) in true for row in permutation.tolist()]) < 0.8
    for kind, pairs in {"gold": gold, "permutation": permutation}.items():
        matrix = game.Matrix(np.eye(4, dtype=np.float32))
        problem = Problem(X, Y, pairs[:0], np.random.default_rng(0))
        game.Constraint(name, problem, pairs, 1.0, False, (0,))(matrix).backward()
        lengths[kind] = float(matrix.W.grad.norm())
    assert lengths["permutation"] > 0.3 * lengths["gold"], lengths


#: From the identity, in seconds.
FROM_NOTHING = {
    "start": "identity", "normalise": "none", "score": "csls-euclidean", "distance": "sliced", "optimiser": "adam",
    "rate": 5e-3, "batch": 200, "steps": 15, "rounds": 6, "couplings": 4, "hidden": 16, "weight": 0.0,
}  # fmt: skip


def test_bootstrapping_finds_pairs_that_matching_densities_does_not():
    """Algorithm 1 from the identity: P@1 .175 before, about .72 by the distance alone, .94 with cross-correlation."""
    X, Y, pairs = turned()
    assert nearest_is_right(X, Y, pairs) < 0.25
    reached = {}
    for weight in (0.0, 3.0):
        alignment = Bootstrap(of="muse", constraint_weight=weight, **FROM_NOTHING).fit(X, Y)
        reached[weight] = nearest_is_right(alignment.transform(X), Y, pairs)
    assert reached[3.0] > 0.88, reached
    assert reached[3.0] > reached[0.0] + 0.1, reached


def test_bootstrapping_a_flow_from_the_identity_reaches_the_pairs():
    X, Y, pairs = turned()
    alignment = Bootstrap(**{**FROM_NOTHING, "rounds": 4}).fit(X, Y)
    assert nearest_is_right(alignment.transform(X), Y, pairs) > 0.9
    figures = [row["semantic"] for row in alignment.info["history"]]
    assert figures[0] < 0.96 < 0.99 < figures[-1]


def test_the_balanced_constraint_has_a_gradient_as_long_as_the_distance():
    X, Y, _ = turned()
    rules = dataclasses.replace(RULES, distance="sliced", batch=200)
    matrix = game.Matrix(np.eye(4, dtype=np.float32))
    play = game.Game(matrix, X, Y, rules, (0,))
    problem = Problem(X, Y, np.zeros((0, 2), np.int64), np.random.default_rng(0))
    constraint = game.Constraint(
        "cross-correlation", problem, best_permutation(X, Y, score="csls-euclidean"), 1.0, True, (0,)
    )
    share = play._balance(np.random.default_rng(0), constraint)
    (gradient,) = torch.autograd.grad(share * constraint(matrix), matrix.W)
    x, y = play._draw(np.random.default_rng(1))
    gap = play._distance(np.random.default_rng(1), matrix.dual_there(x)[0], y, matrix.dual_back(y)[0], x)
    (wanted,) = torch.autograd.grad(gap, matrix.W)
    assert 0.3 < float(gradient.norm() / wanted.norm()) < 3
    assert share > 2, "the paper's plain sum hardly sees the constraint"


def test_spectral_critics_stretch_nothing():
    X, Y = shifted()
    rules = dataclasses.replace(RULES, lipschitz="spectral", steps=10, critic_steps=5, critic_rate=1e-2)
    play = game.Game(flow.FlowPair(flow.FlowShape(3, 2, (8, 8), False)), X, Y, rules, (0,))
    play.epoch(0)
    stretches = [
        float(torch.linalg.matrix_norm(weights.detach(), 2))
        for name, weights in play.critics.named_parameters()
        if "weight" in name
    ]
    assert max(stretches) < 1.2
    assert min(stretches) > 0.05


@pytest.mark.usefixtures("short_start")
@pytest.mark.parametrize("constraint", ["cross-correlation", "graph-structure", "procrustes"])
def test_bootstrapping_keeps_a_good_rotation_good(constraint):
    X, Y, pairs = twins()
    alignment = Bootstrap(of="muse", constraint=constraint, select="last", **TINY).fit(X, Y)
    assert isinstance(alignment, LinearAlignment)
    np.testing.assert_allclose(alignment.W_src @ alignment.W_src.T, np.eye(10), atol=1e-5)
    assert right(alignment, X, Y, pairs) > 0.97
    assert alignment.info["aligned"]
    assert [row["epoch"] for row in alignment.info["history"]] == [0, 1, 2]
    assert alignment.info["history"][-1]["pairs"] > 250


@pytest.mark.usefixtures("short_start")
def test_bootstrapping_a_flow_by_procrustes_puts_the_rotation_after_it():
    X, Y, pairs = twins(noise=0.1)
    alignment = Bootstrap(of="gan-realnvp", constraint="procrustes", select="last", **{**TINY, "rate": 2e-4}).fit(X, Y)
    assert isinstance(alignment, FlowAlignment)
    after = alignment.weights["after"]
    np.testing.assert_allclose(after @ after.T, np.eye(10), atol=1e-5)
    assert np.abs(after - np.eye(10)).max() > 1e-4
    assert right(alignment, X, Y, pairs) > 0.97
    bare = dataclasses.replace(alignment, weights={**alignment.weights, "after": np.eye(10, dtype=np.float32)})
    np.testing.assert_allclose(alignment.transform(X), bare.transform(X) @ after, atol=1e-5)
    np.testing.assert_allclose(
        alignment.inverse_transform(alignment.transform(X)), alignment.normalise(X, "src"), atol=1e-4
    )


@pytest.mark.usefixtures("short_start")
@pytest.mark.parametrize(("of", "constraint"), [("muse", "graph-structure"), ("gan-realnvp", "procrustes")])
def test_a_killed_bootstrapping_goes_on_to_the_same_result(of, constraint, tmp_path, monkeypatch):
    """The contract's test does so for the default choices."""
    X, Y, _ = twins(noise=0.1)
    aligner = Bootstrap(of=of, constraint=constraint, select="last", **TINY)
    whole = aligner.fit(X, Y)
    monkeypatch.setattr(checkpoint.Checkpoint, "seconds", 0.0)
    original, file = checkpoint.Checkpoint.save, tmp_path / "state"

    def save_then_stop(self, step, tensors, facts=None):
        original(self, step, tensors, facts)
        if self._path is not None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "save", save_then_stop)
        with pytest.raises(KeyboardInterrupt):
            aligner.fit(X, Y, checkpoint=file)
    assert file.exists()
    resumed = aligner.fit(X, Y, checkpoint=file)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
    assert len(resumed.info["history"]) == len(whole.info["history"]) == 3


@pytest.mark.usefixtures("short_start")
def test_bootstrapping_a_flow_with_a_rotation_after_it_can_be_trained():
    """`dual_back` goes another way then: its map must undo `there`, and its likelihood be the target's own."""
    pair = flow.FlowPair(flow.FlowShape(4, 2, (8, 8), False), identity=False)
    pair.after.copy_(torch.from_numpy(np.linalg.qr(normal(4, 4))[0]))
    x = torch.from_numpy(normal(20, 4, seed=1))
    mapped, log_x = pair.dual_there(x)
    back, log_y = pair.dual_back(mapped)
    torch.testing.assert_close(back, x, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(log_x, pair.src.log_prob(x))
    torch.testing.assert_close(log_y, pair.tgt.log_prob(mapped))


@pytest.mark.parametrize(
    ("cls", "wrong", "said"),
    [
        (Bootstrap, {"of": "vecmap"}, "of: .*'vecmap'.*muse"),
        (Bootstrap, {"constraint": "csls"}, "constraint: .*'csls'.*procrustes"),
        (Bootstrap, {"rounds": -1}, "rounds"),
        *[
            (cls, wrong, said)
            for cls in (GanRealNVP, Bootstrap)
            for wrong, said in (
                ({"start": "muse"}, "start: .*'muse'"),
                ({"distance": "euclid"}, "distance: .*'euclid'"),
                ({"lipschitz": "no"}, "lipschitz: .*'no'"),
                ({"optimiser": "sgd"}, "optimiser: .*'sgd'"),
                ({"select": "validation"}, "select: .*no pairs"),
                ({"select": "best"}, "select: .*'best'"),
                ({"steps": 0}, "steps"),
                ({"couplings": 0}, "couplings"),
            )
        ],
    ],
)
def test_unknown_choices_are_config_errors_that_name_them(cls, wrong, said):
    X = normal(30, 4)
    with pytest.raises(ConfigError, match=said):
        cls(**wrong).fit(X, X)
