"""Maps with densities: couplings, optimisers, which epoch is kept, and what Real-NVP and the plain network learn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoglot.aligners import FCNN, Alignment, RealNVP, ResidualNetwork
from isoglot.aligners.base import Problem
from isoglot.aligners.flows.realnvp import FAST
from isoglot.aligners.flows.selection import Selection
from isoglot.errors import ConfigError, ShapeError

torch = pytest.importorskip("torch")
pytest.importorskip("zuko")
flow = pytest.importorskip("isoglot.aligners.flows.networks.stacks")
Flat = pytest.importorskip("isoglot.aligners.flows.networks.optimiser").Flat


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that wait for each other take twenty times as long on a machine that has other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def identical(n):
    return np.stack([np.arange(n)] * 2, axis=1)


def enlarged(shape, seed=0, factor=2.0):
    """A stack far from the identity: scales near their limits, where the rectifiers and the soft clip matter."""
    stack = flow.Stack(shape, flow.generator(seed), identity=False)
    with torch.no_grad():
        for weights in stack.parameters():
            weights.mul_(factor)
    return stack


def turned_start(stack, d, seed=0):
    rng = np.random.default_rng(seed)
    X = flow.tensor(rng.normal(size=(50, d)) * 3 + rng.normal(size=d))
    stack.start(X, flow.tensor(np.linalg.qr(rng.normal(size=(d, d)))[0]))
    return X


SHAPES = [(d, permute) for d in (2, 6, 7) for permute in (False, True)]


@pytest.mark.parametrize(("d", "permute"), SHAPES)
def test_couplings_are_those_of_zuko_forwards_backwards_and_in_all_gradients(d, permute):
    stack = enlarged(flow.FlowShape(d, 4, (16, 16), permute))
    weights = list(stack.parameters())
    random = torch.Generator().manual_seed(1)
    x, push, weight = torch.randn(40, d, generator=random), torch.randn(40, d, generator=random), torch.randn(40)

    def by_zuko(x):
        ladj = 0
        for coupling in stack.couplings:
            x, change = coupling().call_and_ladj(x)
            ladj = ladj + change
        return x, ladj

    def back_by_zuko(z):
        for coupling in reversed(stack.couplings):
            z = coupling().inv(z)
        return z

    def gradients(outputs, x):
        loss = (outputs[0] * push).sum() + (outputs[1] * weight).sum() if isinstance(outputs, tuple) else None
        loss = (outputs * push).sum() if loss is None else loss
        return torch.autograd.grad(loss, [x, *weights])

    for ours, theirs in ((stack.to_latent, by_zuko), (stack.from_latent, back_by_zuko)):
        points = x.clone().requires_grad_()
        found, wanted = ours(points), theirs(points)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        for mine, other in zip(gradients(found, points), gradients(wanted, points), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4 * float(other.abs().max()))
    changes = torch.stack([coupling().call_and_ladj(x)[1] for coupling in stack.couplings])
    assert changes.abs().max() > 0.1, "the test needs couplings that do something"


@pytest.mark.parametrize(("d", "permute"), [(3, False), (4, True), (5, True), (6, False)])
def test_log_determinant_is_that_of_the_full_jacobian(d, permute):
    stack = enlarged(flow.FlowShape(d, 3, (8, 8), permute), seed=d)
    X = turned_start(stack, d)[:8]
    assert stack.deviation.log().sum().abs() > 1, "the linear start must count"
    _, ladj = stack.to_latent(X)
    for x, found in zip(X, ladj, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda point: stack.to_latent(point[None])[0][0], x)
        wanted = torch.linalg.slogdet(jacobian.double())
        assert found.item() == pytest.approx(wanted.logabsdet.item(), abs=2e-4)


def test_density_sums_to_one_over_the_plane():
    stack = enlarged(flow.FlowShape(2, 4, (16, 16), False), factor=1.5)
    turned_start(stack, 2)
    with torch.no_grad():
        samples = stack.from_latent(torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0)))
        low, high = samples.min(dim=0).values, samples.max(dim=0).values
        margin = 0.3 * (high - low)
        axes = [torch.linspace(float(a), float(b), 900) for a, b in zip(low - margin, high + margin, strict=True)]
        density = stack.log_prob(torch.cartesian_prod(*axes)).double().exp()
    cell = math.prod(float(axis[1] - axis[0]) for axis in axes)
    assert density.sum().item() * cell == pytest.approx(1, abs=0.01)


def test_a_coupling_starts_as_the_identity_only_when_asked():
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    shape = flow.FlowShape(4, 2, (8, 8), False)
    torch.testing.assert_close(flow.FlowPair(shape).there(x), x)
    assert not torch.allclose(flow.FlowPair(shape, identity=False).there(x), x, atol=1e-3)


def test_a_trained_flow_of_768_dimensions_is_undone_in_float32():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 768)).astype(np.float32)
    Y = (np.tanh(X) @ np.linalg.qr(rng.normal(size=(768, 768)))[0]).astype(np.float32)
    settings = {"hidden": 32, "epochs": 3, "rate": 1e-3, "select": "last"}
    alignment = RealNVP(**settings).fit(X, Y, identical(300))
    bare = RealNVP(**{**settings, "epochs": 0}).fit(X, Y, identical(300))
    assert np.abs(alignment.transform(X) - bare.transform(X)).max() > 1e-3, "nothing was trained"
    X, Y = alignment.normalise(X), alignment.normalise(Y, "tgt")
    there = alignment._map(X, "src")
    np.testing.assert_allclose(alignment.inverse_transform(there), X, atol=1e-4)
    # The other way round: the target's words go to the source's space and come back.
    np.testing.assert_allclose(alignment._map(alignment.inverse_transform(Y), "src"), Y, atol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    """Real-NVP of two correlated clouds, in their own units, and fresh points of both."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(4, 4)) * 0.5 + np.eye(4)
    X = (rng.normal(size=(800, 4)) @ mix + [1, 2, 3, 4]).astype(np.float32)
    Y = (X * 2 - 1).astype(np.float32)
    settings = {"normalise": "none", "hidden": 32, "epochs": 30, "rate": 2e-3, "weight": 10.0, "decay": True}
    return RealNVP(select="last", **settings).fit(X[:600], Y[:600], identical(600)), X, Y


def test_densities_and_samples_survive_saving(fitted, tmp_path):
    alignment, X, Y = fitted
    alignment.save(tmp_path / "out")
    loaded = Alignment.load(tmp_path / "out")
    for side, M in (("src", X), ("tgt", Y)):
        np.testing.assert_array_equal(loaded.log_prob(M, side), alignment.log_prob(M, side))
        np.testing.assert_array_equal(loaded.sample(9, side, seed=4), alignment.sample(9, side, seed=4))
    assert not np.array_equal(loaded.sample(9, seed=4), loaded.sample(9, seed=5))


def test_density_is_higher_at_a_side_s_own_words(fitted):
    alignment, X, Y = fitted
    for side, M in (("src", X), ("tgt", Y)):
        own, spread = M[600:], M.std()
        near = alignment.log_prob(own, side)
        assert near.shape == (200,)
        assert near.dtype == np.float32
        for far in (own + 6 * spread, own - 6 * spread):
            assert alignment.log_prob(far, side).max() < np.median(near)


def test_samples_look_like_the_data(fitted):
    alignment, X, Y = fitted
    for side, M in (("src", X), ("tgt", Y)):
        samples = alignment.sample(4000, side)
        assert samples.dtype == np.float32
        spread = M.std(axis=0)
        assert (np.abs(samples.mean(axis=0) - M.mean(axis=0)) < 0.1 * spread).all()
        np.testing.assert_allclose(samples.std(axis=0), spread, rtol=0.1)
        assert np.abs(np.corrcoef(samples.T) - np.corrcoef(M.T)).max() < 0.15


def test_densities_and_samples_refuse_what_they_cannot_use(fitted):
    alignment, X, _ = fitted
    with pytest.raises(ShapeError, match="4"):
        alignment.log_prob(X[:, :3])
    with pytest.raises(ConfigError):
        alignment.log_prob(X, "left")
    with pytest.raises(ConfigError):
        alignment.sample(5, "left")
    with pytest.raises(ConfigError, match="at least 1"):
        alignment.sample(0)
    assert alignment.log_prob(np.zeros((0, 4))).shape == (0,)


def test_more_weight_on_the_likelihood_gives_the_data_more_of_it():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))).astype(np.float32)
    settings = {"normalise": "none", "hidden": 32, "epochs": 8, "rate": 1e-3, "select": "last"}
    without, much = (RealNVP(weight=w, **settings).fit(X, X + 1, identical(300)) for w in (0.0, 10.0))
    for side, M in (("src", X), ("tgt", X + 1)):
        assert much.log_prob(M, side).mean() > without.log_prob(M, side).mean() + 0.3


def small_network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


@pytest.mark.parametrize("largest", [None, 0.05])
@pytest.mark.parametrize(("kind", "theirs"), [("rmsprop", "RMSprop"), ("adam", "Adam")])
def test_optimisers_follow_torch(kind, theirs, largest):
    ours, other = small_network(), small_network()
    mine = Flat(ours, 1e-2, kind, largest=largest)
    reference = getattr(torch.optim, theirs)(other.parameters(), lr=1e-2)
    x, y = torch.randn(32, 4), torch.randn(32, 2)
    for _ in range(20):
        assert mine.step((ours(x) - y).square().mean())
        reference.zero_grad()
        (other(x) - y).square().mean().backward()
        if largest is not None:
            length = torch.nn.utils.clip_grad_norm_(other.parameters(), largest)
            assert length > largest, "nothing to clip"
        reference.step()
        for one, wanted in zip(ours.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(one, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["rmsprop", "adam"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("how", ["times", "plus"])
def test_a_loss_that_is_no_number_changes_nothing(kind, bad, how):
    """Times: the gradient breaks down too. Plus: only the loss itself does."""
    network = small_network()
    optimiser = Flat(network, 1e-2, kind)
    assert optimiser.step(network(torch.ones(3, 4)).square().mean())
    before = [one.detach().clone() for one in network.parameters()]
    state = {name: array.copy() for name, array in optimiser.arrays().items()}
    loss = network(torch.ones(3, 4)).square().mean()
    assert not optimiser.step(loss * bad if how == "times" else loss + bad)
    for one, was in zip(network.parameters(), before, strict=True):
        assert torch.equal(one, was)
    for name, array in optimiser.arrays().items():
        np.testing.assert_array_equal(array, state[name])
    assert optimiser.step(network(torch.ones(3, 4)).square().mean())
    assert all(torch.isfinite(one).all() for one in network.parameters())


def test_no_seed_gives_nan_at_the_default_architecture():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(2, 64, 10)).astype(np.float32)
        alignment = RealNVP(epochs=1, seed=seed, select="last").fit(X, Y, identical(64))
        assert alignment.info["history"][-1]["skipped_steps"] == 0
        assert np.isfinite(alignment.transform(X)).all()
        assert np.isfinite(alignment.log_prob(X)).all()


def shrinking(Y):
    """A sequence of fake maps that give, whatever they are asked, Y with more noise, less, none, then much."""
    noise = np.random.default_rng(1).normal(size=Y.shape).astype(np.float32)
    return [lambda X, size=size: (Y + size * noise)[: len(X)] for size in (1.0, 0.3, 0.0, 2.0)]


def selection(select, Y, pairs=None, **options):
    pairs = np.zeros((0, 2), np.int64) if pairs is None else pairs
    problem = Problem(np.zeros_like(Y), Y, pairs, np.random.default_rng(0))
    return Selection(RealNVP(select=select, **options), problem)


@pytest.mark.parametrize(("select", "wanted"), [("semantic", 2), ("structural", 2), ("last", 3)])
def test_selection_picks_the_map_that_it_should(select, wanted):
    Y = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    judge = selection(select, Y)
    newest = [judge.look(there, note=i) for i, there in enumerate(shrinking(Y))]
    assert judge.best == wanted
    assert newest[wanted]
    assert judge.info["best_epoch"] == wanted
    assert [row["note"] for row in judge.history] == [0, 1, 2, 3]
    if select == "last":
        assert all(newest)
        return
    figures = [row[select] * (1 if select == "semantic" else -1) for row in judge.history]
    assert newest == [figure == max(figures[: i + 1]) for i, figure in enumerate(figures)]
    assert not newest[3]


def test_selection_tells_the_two_criteria_apart():
    """A turned copy has the right singular values, one with a shortened dimension the better cosines."""
    Y = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    turn = np.kron(np.eye(4), [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]).astype(np.float32)
    shorter = np.float32([1] * 7 + [0.7])
    maps = [lambda X: Y[: len(X)] @ turn, lambda X: Y[: len(X)] * shorter]
    picked = {}
    for select in ("semantic", "structural"):
        judge = selection(select, Y)
        for there in maps:
            judge.look(there)
        picked[select] = judge.best
    assert picked == {"semantic": 1, "structural": 0}


def test_validation_keeps_pairs_out_of_learning_and_goes_by_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)).astype(np.float32)
    pairs = identical(200)
    judge = Selection(RealNVP(select="validation"), Problem(X, X, pairs, rng))
    learn, kept = ({tuple(row) for row in part.tolist()} for part in (judge.learn, judge.kept))
    assert len(kept) == 20
    assert not learn & kept
    assert learn | kept == {tuple(row) for row in pairs.tolist()}
    # The wrong way round every word has a perfect translation, but never the right one.
    assert judge.look(lambda M: M + 0.3 * rng.normal(size=M.shape).astype(np.float32))
    assert not judge.look(lambda M: X[::-1][[np.flatnonzero((row == X).all(1))[0] for row in M]])
    assert judge.look(lambda M: M)
    assert judge.best == 2
    assert judge.history[2]["validation"] == 1
    assert judge.history[1]["validation"] < judge.history[0]["validation"]
    without = selection("semantic", X, pairs)
    without.look(lambda M: M)
    assert "validation" not in without.history[0]
    assert len(without.learn) == 200
    alignment = RealNVP(hidden=8, epochs=1, select="validation").fit(X, X, pairs)
    assert alignment.info["select"] == "validation"
    with pytest.raises(ConfigError, match="too few"):
        RealNVP(hidden=8, epochs=1, select="validation").fit(X, X, pairs[:50])


def test_an_epoch_that_broke_down_is_never_kept():
    from isoglot.aligners.epoch_choice import chosen

    rows = [{"semantic": 0.1, "structural": 3.0, "validation": 0.0}]
    rows.append(dict.fromkeys(rows[0], float("nan")))
    for select in ("semantic", "structural", "validation"):
        assert chosen(rows, select) == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"select": "best"}, "select.*'best'"),
        ({"score": "cosinus"}, "cosinus"),
        ({"words": 0}, "words"),
        ({"optimiser": "sgd"}, "optimiser.*'sgd'"),
        ({"batch": 0}, "batch"),
        ({"epochs": -1}, "epochs"),
        ({"rate": 0.0}, "rate"),
        ({"hidden": 0}, "hidden"),
    ],
)
@pytest.mark.parametrize("cls", [RealNVP, FCNN, ResidualNetwork])
def test_unknown_settings_are_config_errors_that_name_them(cls, wrong, said):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ConfigError, match=said):
        cls(**wrong).fit(X, X, identical(20))


def test_the_fast_preset_is_its_settings_and_leaves_changed_ones_alone():
    X = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    small = {"hidden": 8, "epochs": 3, "select": "last"}
    preset, spelt, paper = (
        RealNVP(**{**how, **small}).fit(X, X[:, ::-1], identical(60)).transform(X)
        for how in ({"preset": "fast"}, FAST, {})
    )
    assert np.array_equal(preset, spelt)
    assert not np.allclose(preset, paper, atol=1e-4)


def test_an_unknown_start_is_refused():
    with pytest.raises(ConfigError, match=r"start.*'muse'"):
        RealNVP(start="muse")


def test_couplings_need_two_dimensions_and_one_coupling():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ConfigError, match="two dimensions"):
        RealNVP(normalise="none").fit(X[:, :1], X[:, :1], identical(20))
    with pytest.raises(ConfigError, match="couplings"):
        RealNVP(couplings=0).fit(X, X, identical(20))


BEND = {"hidden": 64, "rate": 3e-3, "epochs": 40, "decay": True, "normalise": "none", "select": "last"}


@pytest.mark.parametrize(
    ("aligner", "factor"),
    [(RealNVP(optimiser="adam", **BEND), 4), (FCNN(**BEND), 3), (ResidualNetwork(**BEND), 4)],
    ids=["realnvp", "fcnn", "residual-network"],
)
def test_a_bend_is_learned_that_no_affine_map_can_follow(aligner, factor):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(900, 2))
    bent = X + np.stack([0.8 * np.sin(1.5 * X[:, 1]), 0.4 * X[:, 0] ** 2], axis=1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    X, Y = X.astype(np.float32), (bent @ turn).astype(np.float32)
    learn, unseen = slice(0, 700), slice(700, None)

    def error(mapped):
        return np.linalg.norm(mapped - Y[unseen], axis=1).mean()

    affine = np.linalg.lstsq(np.c_[X[learn], np.ones(700)], Y[learn], rcond=None)[0]
    alignment = aligner.fit(X[learn], Y[learn], identical(700))
    assert error(alignment.transform(X[unseen])) < error(np.c_[X[unseen], np.ones(200)] @ affine) / factor
