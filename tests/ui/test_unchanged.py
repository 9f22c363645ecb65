"""Every change of a cached result is noticed."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
import torch

from tests.ui.unchanged import changed, digest
from ui.work.cache import Cache


@dataclass(frozen=True, eq=False)
class Result:
    values: np.ndarray
    tensor: torch.Tensor
    names: list
    by_name: dict


def result():
    return Result(np.arange(4.0), torch.ones(2), ["a", ("b", 1)], {"x": np.zeros(2), "y": 1.5})


def set_nan(item):
    item.values[2] = np.nan


def add_in_place(item):
    item.tensor.add_(1)


def append(item):
    item.names.append("c")


def rename(item):
    item.by_name["z"] = item.by_name.pop("y")


def change_deep_inside(item):
    item.by_name["x"][0] = -0.0


def retype(item):
    object.__setattr__(item, "values", item.values.astype(np.float32))


@pytest.mark.parametrize(
    "change", [set_nan, add_in_place, append, rename, change_deep_inside, retype]
)
def test_each_kind_of_change_is_noticed_and_an_equal_object_is_not(change):
    cache, item = Cache(1e6), MappingProxyType({"it": [result()]})
    cache.put("key", item)
    assert not changed({"key": digest(MappingProxyType({"it": [result()]}))}, cache)
    digests = {"key": digest(item)}
    change(item["it"][0])
    assert changed(digests, cache) == ["key"]


def test_parts_in_another_order_are_a_change_and_one_that_holds_itself_ends():
    assert digest([1, 2]) != digest([2, 1]) != digest([[2], 1])
    assert len({digest(x) for x in ([1], [1.0], ["1"], [True], (1,), [None], [[1]])}) == 7
    around = [1]
    around.append(around)
    assert digest(around) != digest([1])
