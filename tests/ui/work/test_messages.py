"""Does what travels between processes arrive as it was sent, whoever looks at it meanwhile?"""

import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import Setting, train_setting
from gating_core.tasks import parse_csv
from tests.ui.work.work import DEADLINE_SECONDS
from ui.work.messages import Receiver, Sender, packed, unpacked


@dataclass(frozen=True, eq=False)
class Noted:
    """It keeps what it has worked out."""

    numbers: np.ndarray
    text: str

    @cached_property
    def total(self):
        return float(self.numbers.sum())


def test_a_field_travels_and_what_was_worked_out_does_not():
    noted = Noted(np.arange(4.0), "a")
    assert noted.total == 6.0
    found = unpacked(packed(noted))
    assert vars(found).keys() == {"numbers", "text"}
    np.testing.assert_array_equal(found.numbers, noted.numbers)
    assert (found.text, found.total) == ("a", 6.0)


class Slow:
    """Something that takes a while to be packed, as tensors do."""

    def __reduce__(self):
        looked_at.release()
        assert looked.acquire(timeout=DEADLINE_SECONDS)
        return Slow, ()


looked_at, looked = threading.Semaphore(0), threading.Semaphore(0)


def test_an_object_may_be_looked_at_while_it_is_packed():
    """A page works out more and more of a run while its job sends it to be measured."""
    item = Noted(np.ones(3), Slow())

    def look():
        assert looked_at.acquire(timeout=DEADLINE_SECONDS)
        assert item.total == 3.0
        looked.release()

    thread = threading.Thread(target=look)
    thread.start()
    found = unpacked(packed(item))
    thread.join()
    assert found.total == 3.0


def test_what_was_sent_before_is_not_sent_again():
    sender, receiver = Sender(), Receiver()
    large = Noted(np.zeros(10_000), "large")
    first, second = sender.pack([large]), sender.pack([large, 1])
    assert len(second) < 100 < len(first)
    (found,), (again, one) = receiver.unpack(first), receiver.unpack(second)
    assert found is again
    assert one == 1


@pytest.mark.parametrize("own", [False, True])
def test_a_setting_and_its_run_arrive_equal(own):
    table = "x,y,label\n" + "\n".join(f"{i % 5},{i % 7},{'ab'[i % 2]}" for i in range(40))
    data = parse_csv(table) if own else None
    setting = Setting(task="own" if own else "circle", own=data, seed_count=2, steps=2)
    *_, run = train_setting(setting)
    assert run.variants  # worked out, and left behind
    found = unpacked(packed(run))
    assert found.setting == setting
    assert hash(found.setting) == hash(setting)
    assert "variants" not in vars(found)
    for name, variant in run.variants.items():
        for part, array in variant.ensemble.state.items():
            np.testing.assert_array_equal(found.variants[name].ensemble.state[part], array)


def test_another_table_is_another_setting():
    first, second = (
        parse_csv("x,y,label\n" + "\n".join(f"{i % 5},{i * scale},{i % 2}" for i in range(40)))
        for scale in (1, 2)
    )
    assert first != second
    assert hash(first) != hash(second)
    assert Setting(task="own", own=first) != Setting(task="own", own=second)


@pytest.mark.parametrize(
    "tensor",
    [torch.tensor(1.5), torch.arange(6).reshape(2, 3), torch.zeros(0), torch.tensor([True, False]),
     torch.eye(3)[:, 1], torch.ones(2, 3).T, torch.tensor([1, 2], dtype=torch.uint8)],
    ids=str,
)  # fmt: skip
def test_a_tensor_travels_as_its_numbers(tensor):
    parcel = packed(tensor)
    found = unpacked(parcel)
    assert torch.equal(found, tensor)
    assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
    assert len(parcel) < 400  # torch's own way makes a file of each
    found += found  # it is nobody else's, and can be written to


def test_a_parameter_stays_one():
    found = unpacked(packed(torch.nn.Parameter(torch.ones(2))))
    assert isinstance(found, torch.nn.Parameter)
    assert found.requires_grad
