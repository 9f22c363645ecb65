"""Files from strangers: malformed in thirty ways, cut short while they are read, or elsewhere."""

import codecs
import contextlib
import json
import os
import pickle
import struct
import tempfile
import threading
import tracemalloc
import zipfile
from io import FileIO
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from gating_core.assets import ASSETS
from gating_core.checkpoints import open_checkpoint, read_layer, reading
from gating_core.checkpoints.reading import TensorFile
from gating_core.real_heads.shipped import FOLDER
from tests.core.checkpoints.tiny import BERT, bert_tensors, write
from tests.profiles import fuzz

GOOD = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4)}
BODY = struct.pack("<10f", *range(6), 1, 1, 1, 1)
NAN_BODY = BODY[:24] + struct.pack("<4f", float("nan"), float("inf"), 1, 2)
MEMORY = 30_000_000  # bytes that a refusal may take


def entries(**others):
    """The header of `GOOD`, with other entries."""
    return {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "b": {"dtype": "F32", "shape": [4], "data_offsets": [24, 40]}, **others}  # fmt: skip


def b_as(dtype, shape, start=24, stop=40):
    return entries(b={"dtype": dtype, "shape": shape, "data_offsets": [start, stop]})


def raw(header, body=BODY, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def archive(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "b")


WHOLE = raw(entries())
EMPTY_TENSORS = {
    f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(20_001)
}
TWICE = (
    b'{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
    b'"a":{"dtype":"F32","shape":[4],"data_offsets":[24,40]}}'
)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
NO_FILE = "is no safetensors file, or it is truncated"
MALFORMED = {  # what is written, or what writes it; and what is said
    "empty": (b"", NO_FILE),
    "a pointer of git-lfs": (POINTER, "is a pointer of git-lfs; get the file itself with git lfs"),
    "a web page": (b"\xef\xbb\xbf\r\n<!DOCTYPE HTML><html>", "is a web page; download the file"),
    "seven bytes": (b"\0" * 7, NO_FILE),
    "truncated header": (WHOLE[:40], NO_FILE),
    "truncated body": (WHOLE[:-10], "is truncated: tensor 'b' ends outside of it"),
    "header of 2^63 bytes": (raw(entries(), length=2**63), NO_FILE),
    "header of 200 MB": (raw(entries(), length=200_000_000), NO_FILE),
    "header of 20 MB": (raw(b" " * 20_000_000), "a header of 20,000,000 bytes; at most 10,000,000"),
    "ten terabytes": (
        raw(b_as("F32", [2_500_000_000_000], 24, 10_000_000_000_024)), "ends outside of it",
    ),
    "shape against offsets": (raw(b_as("F32", [400])), "16 bytes for tensor 'b', whose shape"),
    "overlap": (raw(b_as("F32", [4], 8, 24)), "overlap another, or leave a gap"),
    "gap": (raw(b_as("F32", [4], 32, 48), BODY + b"\0" * 8), "overlap another, or leave a gap"),
    "bytes after the last": (raw(entries(), BODY + b"\0" * 99), "99 bytes that belong to no"),
    "negative shape": (raw(b_as("F32", [-4])), "describes tensor 'b' badly"),
    "overflowing shape": (raw(b_as("F32", [2**33, 2**33])), "bytes for tensor 'b'"),
    "shape of fractions": (raw(b_as("F32", [4.0])), "describes tensor 'b' badly"),
    "offsets turned round": (raw(b_as("F32", [4], 40, 24)), "ends outside of it"),
    "three offsets": (raw(entries(b={"dtype": "F32", "shape": [4], "data_offsets": [24, 40, 40]})),
                      "describes tensor 'b' badly"),
    "unknown type": (raw(b_as("Q4_K", [4])), "is stored as 'Q4_K'; only F64, F32, F16, BF16"),
    "eight bits": (raw(b_as("F8_E4M3", [16])), "is stored as 'F8_E4M3'; only"),
    "whole numbers": (raw(b_as("I32", [4])), "is stored as 'I32'; only"),
    "64 axes": (raw(b_as("F32", [1] * 64 + [4])), "describes tensor 'b' badly"),
    "a name twice": (raw(TWICE), "has a name twice"),
    "no object": (raw(b"[1,2,3]"), "is not a JSON object"),
    "no JSON": (raw(b'{"a":secret'), "is not JSON"),
    "not UTF-8": (raw(b'{"\xff\xfe":1}'), "is not UTF-8"),
    "deep nesting": (raw(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nested too deeply"),
    "too many tensors": (raw(EMPTY_TENSORS, b""), "names 20,001 tensors; at most 20,000"),
    "NaN": (raw(entries(), NAN_BODY), "tensor 'b' contains NaN or infinite numbers"),
    "a pickle": (lambda path: path.write_bytes(pickle.dumps(GOOD)), "which may run code"),
    "torch.save": (lambda path: torch.save(GOOD, path), "which may run code"),
    "a zip": (archive, "which may run code"),
    "a folder": (lambda path: path.mkdir(), "is not a regular file"),
    "a pipe": (os.mkfifo, "is not a regular file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
    "a link to a text": (lambda path: path.symlink_to(__file__), NO_FILE),
    "a dangling link": (lambda path: path.symlink_to("nowhere"), "cannot be opened: No such file"),
}  # fmt: skip


def read_all(path):
    file = TensorFile(path)
    return {name: file.read(name) for name in file.places}


def message_of(action):
    """The one sentence of a refusal, which may not wait, nor take much memory."""
    caught = []

    def run():
        tracemalloc.start()
        try:
            action()
        except ValueError as error:
            caught.append(str(error))
        finally:
            caught.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits"
    text, peak = caught
    assert peak < MEMORY
    assert "\n" not in text
    assert len(text) < 250
    return text


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_in_one_sentence(name, tmp_path):
    content, said = MALFORMED[name]
    path = tmp_path / "model.safetensors"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    text = message_of(lambda: read_all(path))
    assert said in text
    assert "secret" not in text


def test_good_files_are_read_exactly_in_every_type(tmp_path):
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        tensors = {name: tensor.to(dtype) / 3 for name, tensor in GOOD.items()}
        tensors |= {
            "nothing": torch.zeros(0, 5, dtype=dtype),
            "number": torch.tensor(2.5).to(dtype),
        }
        save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
        found = read_all(tmp_path / "x.safetensors")
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert found[name].dtype == torch.float64
            assert torch.equal(found[name], tensor.double())
    file = TensorFile(tmp_path / "x.safetensors")
    rows = file.read("a", rows=[1, 0, 1])
    assert torch.equal(rows, file.read("a")[[1, 0, 1]])
    with pytest.raises(ValueError, match="has 2 rows; 2 is none"):
        file.read("a", rows=[2])


def interfered(monkeypatch, after_reading):
    """Let something happen to a file after every eight bytes that are read of it."""

    class Interfered(FileIO):
        def readinto(self, buffer):
            count = super().readinto(buffer)
            after_reading()
            return count

    monkeypatch.setattr(reading, "CHUNK_BYTES", 8)
    monkeypatch.setattr(reading, "FileIO", Interfered)


def test_a_file_that_is_cut_short_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    path.write_bytes(WHOLE)
    file = TensorFile(path)
    interfered(monkeypatch, lambda: os.truncate(path, len(WHOLE) - 20))
    with pytest.raises(ValueError, match="became shorter while it was read"):
        file.read("b")
    with pytest.raises(ValueError, match="has changed since it was opened"):
        file.read("b")


@pytest.mark.parametrize("action", [
    TensorFile, lambda path: TensorFile(path).read("b"),
    lambda path: reading.read_bytes(path, 1000),
])  # fmt: skip
def test_a_file_that_is_written_in_place_while_it_is_read_is_not_mixed(
    action, tmp_path, monkeypatch
):
    path = tmp_path / "x.safetensors"
    path.write_bytes(WHOLE)
    os.utime(path, (1e9, 1e9))  # clocks of file systems go by steps

    def rewrite():
        with path.open("r+b") as file:  # of the same size, and the same file
            file.write(WHOLE)

    action(path)
    os.utime(path, (1e9, 1e9))
    interfered(monkeypatch, rewrite)
    with pytest.raises(ValueError, match=r"was written while it was read|since it was opened"):
        action(path)


MISSING_ON_WINDOWS = ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "pread", "preadv", "readv", "mkfifo")


def test_models_are_read_without_what_windows_lacks(monkeypatch):
    for name in MISSING_ON_WINDOWS:
        monkeypatch.delattr(os, name)
    for path in (FOLDER, ASSETS / "models" / "g1_head-0.safetensors"):
        assert read_layer(path, 0).query.isfinite().all()


@fuzz()
@given(
    edits=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6),
    length=st.integers(0, len(WHOLE) + 8),
)
def test_whatever_a_file_holds_it_is_read_or_refused(edits, length):
    data = bytearray(WHOLE.ljust(length, b"\0")[: length or None])
    for at, byte in edits:
        if at < len(data):
            data[at] = byte
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.safetensors")
        path.write_bytes(data)
        with contextlib.suppress(ValueError):
            assert all(tensor.isfinite().all() for tensor in read_all(path).values())


def test_a_tensor_of_too_many_numbers_is_not_begun(tmp_path):
    """A sparse file of four gigabytes, which holds what it says."""
    path = tmp_path / "x.safetensors"
    header = {"a": {"dtype": "F16", "shape": [2**31], "data_offsets": [0, 2**32]}}
    path.write_bytes(raw(header, b""))
    os.truncate(path, os.path.getsize(path) + 2**32)
    assert "has 2,147,483,648 numbers; at most" in message_of(lambda: read_all(path))


def test_links_are_followed_as_in_the_cache_of_hugging_face(tmp_path):
    tensors = bert_tensors()
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1a2b"
    plain = write(tmp_path / "plain", BERT, tensors)
    for folder in (blobs, snapshot):
        folder.mkdir(parents=True)
    for number, name in enumerate(("config.json", "model.safetensors")):
        (plain / name).rename(blobs / f"{number:064x}")
        (snapshot / name).symlink_to(f"../../blobs/{number:064x}")
    layer = read_layer(snapshot, 0)
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(layer.query.reshape(32, 32), tensors[name].double())


@pytest.mark.parametrize(("text", "said"), [
    (b"", "config.json is not JSON"), (b"[]", "is not a JSON object"), (b"\xff", "is not UTF-8"),
    (b'{"a": 1, "a": 2}', "has a name twice"), (b" " * 10_000_001, "at most 10,000,000"),
    ("{}".encode("utf-16"), "is not UTF-8; save it as UTF-8"), (POINTER, "git lfs pull"),
    (b"<html>", "config.json is a web page"),
])  # fmt: skip
def test_a_malformed_configuration(text, said, tmp_path):
    folder = write(tmp_path, BERT, bert_tensors())
    (folder / "config.json").write_bytes(text)
    assert said in message_of(lambda: open_checkpoint(folder))


def test_a_byte_order_mark_is_read(tmp_path):
    folder = write(tmp_path, BERT, bert_tensors())
    path = folder / "config.json"
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert open_checkpoint(folder).title == "BERT"


def test_a_missing_configuration_and_a_missing_folder(tmp_path):
    folder = write(tmp_path, BERT, bert_tensors())
    (folder / "config.json").unlink()
    assert "config.json cannot be opened" in message_of(lambda: open_checkpoint(folder))
    text = message_of(lambda: open_checkpoint(folder / "model.safetensors"))
    assert "name the folder that holds it and config.json" in text
    assert "there is no checkpoint 'gone'" in message_of(lambda: open_checkpoint(folder / "gone"))


@pytest.mark.parametrize("letters", [300, 5000])
def test_a_name_longer_than_those_of_files_is_a_sentence(tmp_path, letters):
    folder = tmp_path / ("a" * letters)
    assert "cannot be opened: File name too long" in message_of(lambda: open_checkpoint(folder))
