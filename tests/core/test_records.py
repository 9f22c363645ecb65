"""Records in files come back as they were, and any other file is refused in one sentence."""

import json
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gating_core.records import load_record, save_record, save_tensors
from tests.profiles import fuzz

DTYPES = (np.float16, np.float32, np.float64, np.int16, np.int64, np.uint8, np.bool_)
SHAPES = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)


@dataclass(frozen=True, eq=False)
class Leaf:
    text: str
    number: float
    count: int
    flag: bool
    array: np.ndarray
    tensor: torch.Tensor
    maybe: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    leaf: Leaf
    leaves: tuple[Leaf, ...]
    pair: tuple[int, str | None]
    numbers: list[float]
    by_name: dict[str, Leaf]


ARRAYS = st.sampled_from(DTYPES).flatmap(lambda dtype: arrays(dtype, SHAPES))
LEAVES = st.builds(
    Leaf,
    TEXTS,
    st.floats(),
    st.integers(),
    st.booleans(),
    ARRAYS,
    ARRAYS.map(torch.from_numpy),
    st.none() | ARRAYS,
)
TREES = st.builds(
    Tree,
    LEAVES,
    st.lists(LEAVES, max_size=2).map(tuple),
    st.tuples(st.integers(), st.none() | TEXTS),
    st.lists(st.floats(), max_size=3),
    st.dictionaries(TEXTS.map(lambda text: text.replace(".", "")), LEAVES, max_size=2),
)


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray | torch.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    elif is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, dict):
        assert list(a) == list(b)
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert repr(a) == repr(b)  # NaN, and the sign of zero


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("records") / "a" / "record.safetensors"


@given(TREES)
def test_records_come_back_with_equal_bits(path, tree):
    save_record(path, tree)
    assert_same(load_record(Tree, path, "holds no tree"), tree)
    save_record(path, {"tree": tree})
    assert_same(load_record(dict[str, Tree], path, "holds no trees"), {"tree": tree})


def leaf(**changes):
    return Leaf(
        **{
            "text": "a",
            "number": 1.0,
            "count": 2,
            "flag": True,
            "array": np.zeros(2),
            "tensor": torch.ones(()),
            **changes,
        }
    )


@pytest.mark.parametrize(("changes", "why"), [
    ({"number": "much"}, "number is 'much'; it must be of <class 'float'>"),
    ({"count": True}, "count is True"),
    ({"flag": 1}, "flag is 1"),
    ({"text": None}, "text is None"),
    ({"array": 1.0}, "'array'"),
    ({"tensor": None}, "'tensor'"),
])  # fmt: skip
def test_fields_of_other_types_are_refused(path, changes, why):
    save_record(path, leaf(**changes))
    with pytest.raises(ValueError, match=r"^record\.safetensors holds no leaf: ") as caught:
        load_record(Leaf, path, "holds no leaf")
    assert why in str(caught.value)


def test_records_of_other_kinds_are_refused(path):
    for other in (leaf(), {"leaf": leaf()}, Tree(leaf(), (), (1, None), [], {})):
        save_record(path, other)
        for kind in {Leaf, Tree} - {type(other)}:
            with pytest.raises(ValueError, match="holds no such record: "):
                load_record(kind, path, "holds no such record")


def test_what_a_file_cannot_hold_is_refused(path):
    with pytest.raises(TypeError, match=r"leaf\.count is of <class 'complex'>"):
        save_record(path, {"leaf": leaf(count=1j)})
    with pytest.raises(ValueError, match=r"two arrays of the record are called a\.b"):
        save_record(path, {"a.b": np.ones(1), "a": {"b": np.ones(1)}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | TEXTS,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(
            TEXTS | st.sampled_from([x.name for x in fields(Leaf)]), parts, max_size=8
        )
    ),
)


@fuzz()
@given(JSON)
def test_whatever_the_header_says_it_is_read_or_refused(path, tree):
    save_tensors(path, {"array": np.zeros(2), "tensor": np.ones(1)}, {"record": tree})
    text = ""
    try:
        load_record(Leaf, path, "holds no leaf")
    except ValueError as error:
        text = str(error)
    assert not text or text.startswith("record.safetensors holds no leaf: ")


@fuzz()
@given(st.binary(max_size=40), st.integers(0, 400))
def test_a_broken_file_is_refused(path, data, length):
    save_record(path, leaf())
    whole = path.read_bytes()
    assert json.loads(whole[8 : 8 + whole[0] + 256 * whole[1]])
    for broken in (data, whole[: min(length, len(whole) - 1)], whole[: length % 40] + data):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"^record\.safetensors holds no leaf: "):
            load_record(Leaf, path, "holds no leaf")
    with pytest.raises(ValueError, match="holds no leaf"):
        load_record(Leaf, path.parent, "holds no leaf")
