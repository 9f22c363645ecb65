"""README and docs are true: their examples run, and what they name exists."""

import doctest
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

import gating_core
from gating_core import measure, state_plane, train
from gating_core.attention import GATE_KINDS, GATE_NAMES
from gating_core.lm.shipped import shipped
from gating_core.tasks import TASKS
from gating_core.theory import GALLERY
from tests.ui.opening import offered
from ui.common.bar import PAGES

ROOT = Path(__file__).resolve().parent.parent
FILES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
DOCUMENTS = {path.name: path.read_text(encoding="utf-8") for path in FILES}
README, METHOD = DOCUMENTS["README.md"], DOCUMENTS["method.md"]
NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen twenty"
).split()
README_LINES = 150


def examples(name):
    return re.findall(r"```python\n(.*?)```", DOCUMENTS[name], re.S)


def run(code):
    exec(compile(code, "an example", "exec"), {})


def test_the_example_of_a_layer_gives_its_verdict_and_a_table(capsys, tmp_path, monkeypatch):
    """Its totals are not refined, which takes a quarter of its time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gating_core, "measure", partial(measure, largest_sample=0))
    with torch.random.fork_rng():  # the suite leaves the global state alone
        run(examples("README.md")[0])
    assert capsys.readouterr().out.startswith("Curved, ")
    assert len((tmp_path / "curvature.csv").read_text().splitlines()) == 61 * 61 + 1


@pytest.mark.parametrize("function", [measure, state_plane, train])
def test_the_example_of_a_docstring_says_what_it_prints(function):
    (found,) = doctest.DocTestFinder(recurse=False).find(function, globs={})
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0


def test_the_example_of_attention_shows_flat_and_curved(capsys):
    run(examples("README.md")[1])
    flat, curved = capsys.readouterr().out.strip().splitlines()
    totals = [float(x) for x in re.findall(r"[\d.]+(?:e-?\d+)?", curved.split("]")[0])]
    assert max(float(x) for x in re.findall(r"[\d.]+(?:e-?\d+)?", flat.split("]")[0])) < 1e-9
    assert min(totals) > 1e-3


def test_the_example_of_a_proof_encloses_the_total(capsys):
    run(examples("method.md")[0])
    shares = [float(x) for x in capsys.readouterr().out.split()[:3]]
    assert sum(shares) == pytest.approx(1)
    assert max(shares[:2]) > 0


def test_the_example_of_training_trains_three_variants(capsys):
    run(examples("method.md")[1])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["ungated", "sigmoid", "silu"]
    means = [float(line.split(": ")[1].split(" ±")[0]) for line in lines]
    assert 0.5 < min(means) < max(means) <= 1


def test_the_example_of_language_models_loads_every_bundled_model_and_writes(capsys):
    run(examples("language-models.md")[0])
    *lines, text = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [name for name, _ in shipped()]
    assert len(text) > 10


def test_the_example_of_a_checkpoint_measures_each_head_beside_its_twin(capsys):
    run(examples("language-models.md")[1])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"head {number}" for number in range(4)]


def test_the_example_of_a_tab_draws_a_chart():
    code = f"{examples('extending.md')[0]}\ndraw()\n"
    tab = AppTest.from_string(code, default_timeout=60).run()
    assert not tab.exception
    assert len(tab.get("plotly_chart")) == 1
    assert [*offered(tab).charts] == ["norms"]


def test_every_target_that_is_named_can_be_made():
    commands = [block for text in DOCUMENTS.values() for block in re.findall(r"`+[^`]+`+", text)]
    targets = sorted(
        {target for text in commands for target in re.findall(r"\bmake ([a-z]+)", text)}
    )
    assert {"app", "test", "lint", "soak", "bench", "presets"} <= set(targets)
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_link_and_file_that_is_named_exists(file):
    text = file.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "//" not in link]
    paths = [file.parent / link for link in links]
    paths += [ROOT / path for path in re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]+\.\w+)`", text)]
    assert not [str(path) for path in paths if not path.exists()]


def test_the_readme_plays_a_small_picture_and_links_have_one_of_the_usual_size():
    animation = ROOT / "assets" / "preview.webp"
    assert f"({animation.relative_to(ROOT)})" in README
    assert animation.stat().st_size <= 2_000_000
    with Image.open(animation) as picture:
        assert (picture.is_animated, picture.info["loop"]) == (True, 0)  # for ever
    with Image.open(ROOT / "assets" / "preview.png") as picture:
        assert picture.size == (1200, 630)


def test_tables_of_the_core_stand_in_the_files_that_are_named():
    rows = [line for line in DOCUMENTS["extending.md"].splitlines() if line.startswith("| a")]
    assert len(rows) > 8
    for row in rows:
        spans = re.findall(r"`([^`]+)`", row)
        paths = [ROOT / span for span in spans if re.fullmatch(r"[a-z_]+/[a-z_./]+", span)]
        files = [x for path in paths for x in (path.glob("*.py") if path.is_dir() else [path])]
        code = "\n".join(file.read_text(encoding="utf-8") for file in files)
        for table in (span for span in spans if re.fullmatch(r"[A-Z_]{3,}", span)):
            assert re.search(rf"^{table}\b.* = ", code, re.M), f"no file of {row[:40]} has {table}"


def test_the_block_of_nginx_names_the_same_processes_everywhere():
    (block,) = re.findall(r"^```nginx\n(.*?)^```", DOCUMENTS["serving.md"], re.M | re.S)
    servers = re.findall(r"^upstream (\w) +\{ server ([\d.]+(:\d+)); \}", block, re.M)
    names = {name for name, _, _ in servers}
    assert len(names) == len(servers) > 1
    assert set(re.findall(r"[%*] (\w);", block)) == names  # shares of newcomers
    assert {frozenset(found) for found in re.findall(r"letter>\[(\w+)\]", block)} == {
        frozenset(names)
    }
    for name, address, port in servers:
        assert f"~{port}$ {name};" in block
        assert re.search(rf"^upstream any .*server {address};", block, re.M)
    assert block.count("{") == block.count("}")


def test_formulas_name_every_gate():
    (row,) = re.findall(r"^\| gate \|.*$", METHOD, re.M)
    for name in GATE_NAMES:
        function = GATE_KINDS[name].title.removesuffix(" gate")
        assert function in row, f"{function} in the row gate of docs/method.md"


def test_the_public_interface_is_importable():
    for name in gating_core.__all__:
        assert getattr(gating_core, name) is not None


def test_the_readme_is_short_and_counts_what_there_is():
    assert len(README.splitlines()) <= README_LINES
    rows = dict(re.findall(r"^\| \*([^*|]+)\* \| (.*) \|$", README, re.M))
    assert list(rows) == list(PAGES), "the table of pages in README.md"
    counted = {"kinds of attention": gating_core.VARIANTS, "tasks": TASKS, "gates on a": GALLERY}
    said = {things: re.findall(rf"(\w+) {things}", " ".join(rows.values())) for things in counted}
    assert said == {things: [NUMBERS[len(found)]] for things, found in counted.items()}
