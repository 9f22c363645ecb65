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


def test_every_file_is_part_of_a_component():
    assert {path for paths in source.SCRIPTS.values() for path in paths} == set(FILES)
    assert set(source.SCRIPTS) == {Path(path).parent.name for path in set(FILES) - SHARED}


@pytest.mark.parametrize("name", source.SCRIPTS)
def test_a_script_is_one_module_in_which_no_name_is_declared_twice(name):
    script = source.script(name)
    counts = Counter(DECLARED.findall(script))
    assert counts
    assert not [name for name, count in counts.items() if count > 1]
    assert len(re.findall(r"^export default function \(", script, re.M)) == 1
    assert len(re.findall(r"^export ", script, re.M)) == 1
    assert not re.search(r"^import |\bimport\(", script, re.M)
