"""The scripts of components, each made of several files."""

import re
from collections import Counter
from pathlib import Path

import pytest

from ui.components import source

FILES = sorted(path.relative_to(source.HERE).as_posix() for path in source.HERE.rglob("*.js"))
SHARED = {path for path in FILES if "/" not in path} | set(source.SURFACE)
# Declarations that all files share: names at the start of a line.
DECLARED = re.compile(
    r"^(?:export default )?(?:async )?(?:function|const|let|class) ([\w$]+)", re.M
)


def declared(script):
    return DECLARED.findall(script)


def test_every_file_is_part_of_a_component():
    assert {path for paths in source.SCRIPTS.values() for path in paths} == set(FILES)
    assert set(source.SCRIPTS) == {Path(path).parent.name for path in set(FILES) - SHARED}


@pytest.mark.parametrize("name", source.SCRIPTS)
def test_a_script_is_one_module_in_which_no_name_is_declared_twice(name):
    script = source.script(name)
    counts = Counter(declared(script))
    assert counts
    assert not [name for name, count in counts.items() if count > 1]
    assert len(re.findall(r"^export default function \(", script, re.M)) == 1
    assert len(re.findall(r"^export ", script, re.M)) == 1
    assert not re.search(r"^import |\bimport\(", script, re.M)


@pytest.mark.parametrize("name", source.SCRIPTS)
def test_shared_files_come_first_and_the_exported_function_last(name):
    paths = source.SCRIPTS[name]
    assert [path in SHARED for path in paths] == sorted(
        (path in SHARED for path in paths), reverse=True
    )
    assert paths[-1] == f"{name}/{name}.js"
    assert "export default" in (source.HERE / paths[-1]).read_text(encoding="utf-8")


def test_the_protocol_is_written_once():
    """Only wire.js makes serials and waits for Python."""
    for path in set(FILES) - {"wire.js"}:
        text = (source.HERE / path).read_text(encoding="utf-8")
        assert "testScriptState" not in text, path
        assert "Date.now" not in text, path
        assert not {"post", "isRunning"} & set(declared(text)), path


@pytest.mark.parametrize("path", FILES)
def test_a_file_begins_with_a_comment_and_is_short(path):
    lines = (source.HERE / path).read_text(encoding="utf-8").splitlines()
    assert re.match(r"// \w.*", lines[0])
    assert len(lines) <= 200


def test_a_name_declared_twice_would_be_found():
    assert declared("const a = 1;\nasync function a() {}\n  const inner = 2;") == ["a", "a"]
