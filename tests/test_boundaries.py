"""Do the layers stay apart, and does nothing leave the machine?"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted([*ROOT.glob("gating_core/*.py"), *ROOT.glob("ui/*.py"), *ROOT.glob("pages/*.py"),
                  ROOT / "app.py"])  # fmt: skip


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def test_the_core_runs_without_streamlit():
    code = "import sys, gating_core, gating_core.presets, gating_core.figures\n" \
           "assert 'streamlit' not in sys.modules\n"  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_layers(path):
    names = imported(path)
    place = path.relative_to(ROOT).parts[0]
    if place == "gating_core":
        assert not names & {"streamlit", "ui"}
    if place in ("pages", "app.py"):
        assert not names & {"torch", "numpy", "plotly"}


def test_the_page_fetches_nothing_from_another_host():
    """Except for links that a reader follows, no source names a host."""
    for path in [*SOURCES, *ROOT.glob("ui/view3d.*"), ROOT / ".streamlit" / "config.toml"]:
        text = path.read_text(encoding="utf-8")
        assert "http://" not in text, path
        assert "https://" not in text, path


def test_no_global_random_state():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert "torch.manual_seed(" not in text, path
        assert "np.random.seed(" not in text, path
