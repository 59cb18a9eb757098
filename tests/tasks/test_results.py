"""`Results`: a list of figures that is asked by name and shown as a small table."""

from __future__ import annotations

import json

import pytest

from isoglot.errors import ConfigError
from isoglot.resumable import from_plain, to_plain
from isoglot.tasks import Result, Results


def figure(metric: str, value: float, denominator: str = "", **rest) -> Result:
    return Result("bli", metric, value, 1500, 0.98, {"denominator": denominator} if denominator else {}, **rest)


@pytest.fixture
def results() -> Results:
    return Results(
        [
            figure("P@1", 0.5, "in-vocabulary", interval=(0.475, 0.525), per_item=[{"source": "cat"}] * 1500),
            figure("MRR", 0.6, "in-vocabulary"),
            figure("P@1", 0.4, "full"),
        ]
    )


def test_a_metric_gives_the_value_of_the_primary_figure(results):
    assert results["P@1"] == 0.5
    assert type(results["MRR"]) is float
    assert results.get("MRR") == 0.6
    assert results.get("P@5") is None
    assert results.get("P@5", 0.0) == 0.0
    assert results.find("P@1", denominator="full") is results[2]
    with pytest.raises(ConfigError, match="unknown metric 'P@2'; did you mean 'P@1'"):
        results["P@2"]
    with pytest.raises(ConfigError, match="MRR, denominator full"):
        results.find("MRR", denominator="full")


def test_it_is_a_list(results):
    first, *rest = results
    assert results == [first, *rest]
    assert results[0] is first
    assert results[-1].value == 0.4
    assert type(results[1:]) is type(results + rest) is Results
    assert len(results + rest) == 5
    assert [result["metric"] for result in results.record()] == ["P@1", "MRR", "P@1"]


def test_reprs_are_short(results):
    assert repr(results[0]) == "<bli P@1 0.500 (95% 0.475 to 0.525), n=1,500, in-vocabulary>"
    assert repr(results[1]) == "<bli MRR 0.600, n=1,500, in-vocabulary>"
    assert float(results[0]) == 0.5
    lines = repr(results).splitlines()
    assert [line.split()[0] for line in lines] == ["metric", "P@1", "MRR", "P@1"]
    assert "0.475 to 0.525" in lines[1]
    assert len(repr(results)) < 500


def test_html_is_escaped():
    page = Results([figure("P@1 <b>", 0.5)])._repr_html_()
    assert "P@1 &lt;b&gt;" in page
    assert page.count("<tr>") == 2


def test_a_record_comes_back(results):
    for result in results:
        assert from_plain(Result, json.loads(json.dumps(to_plain(result)))) == Result(
            **{**vars(result), "per_item": list(result.per_item)}
        )
