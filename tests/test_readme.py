"""The README is true: its examples run, its commands, files and folders exist."""

import re
import subprocess
from pathlib import Path

import gating_core
from gating_core.attention import GATE_KINDS, GATE_NAMES
from gating_core.examples import any_surface
from gating_core.language import shipped
from gating_core.tasks import TASKS
from gating_core.theory import GALLERY
from ui.common.page import PAGES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
           " fifteen sixteen seventeen eighteen nineteen twenty").split()  # fmt: skip
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)


def run(code):
    exec(compile(code, "README", "exec"), {})


def test_the_example_runs_and_shows_flat_and_curved(capsys):
    run(EXAMPLES[0])
    flat, curved = capsys.readouterr().out.strip().splitlines()
    totals = [float(x) for x in re.findall(r"[\d.]+(?:e-?\d+)?", curved.split("]")[0])]
    assert max(float(x) for x in re.findall(r"[\d.]+(?:e-?\d+)?", flat.split("]")[0])) < 1e-9
    assert min(totals) > 1e-3


def test_the_second_example_measures_any_network_with_bounds(capsys):
    # The suite leaves the global state alone.
    run(re.sub("torch.random.manual_seed.*", "", EXAMPLES[1]))
    assert capsys.readouterr().out.startswith("rigorous")


def test_the_third_example_trains_three_variants(capsys):
    run(EXAMPLES[2])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["ungated", "sigmoid", "silu"]
    means = [float(line.split(": ")[1].split(" ±")[0]) for line in lines]
    assert 0.5 < min(means) < max(means) <= 1


def test_the_fourth_example_loads_every_shipped_model_and_writes(capsys):
    *_, code = EXAMPLES
    run(code)
    *lines, text = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [name for name, _ in shipped()]
    assert len(text) > 10


def test_the_example_script_agrees_with_its_closed_form():
    assert any_surface.compare_torus() <= 1
    value, error = any_surface.measure_network()
    assert 0 < error < 0.02 * value


def test_every_target_it_names_can_be_made():
    targets = sorted({*re.findall(r"\bmake ([a-z]+)", README)} - {"it"})
    assert {"app", "test"} <= set(targets)
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True)


def test_every_file_and_folder_it_names_exists_and_every_package_is_named():
    (picture,) = re.findall(r"## Files\n\n```\n(.*?)```", README, re.S)
    named = re.findall(r"^([\w/.]+(?:, [\w/.]+)*)", picture, re.M)
    paths = [path for names in named for path in names.split(", ")]
    paths += re.findall(r"\]\((assets/[^)]+)\)", README)
    assert not [path for path in paths if not (ROOT / path).exists()]
    packages = {x.parent.name for x in (ROOT / "gating_core").glob("*/__init__.py")}
    assert packages - {"examples"} <= set(re.findall(r"(\w+)/ ", picture))


def test_what_it_says_of_adding_something_names_files_that_hold_the_tables():
    (text,) = re.findall(r"## Add something\n(.*?)\n## ", README, re.S)
    rows = [line for line in text.splitlines() if line.startswith("| a")]
    assert len(rows) > 8
    for row in rows:
        spans = re.findall(r"`([^`]+)`", row)
        paths = [ROOT / span for span in spans if re.fullmatch(r"[a-z_]+/[a-z_./]+", span)]
        assert not [path for path in paths if not path.exists()], row
        files = [
            file for path in paths for file in (path.glob("*.py") if path.is_dir() else [path])
        ]
        code = "\n".join(file.read_text(encoding="utf-8") for file in files)
        for name in (span for span in spans if re.fullmatch(r"[A-Z_]{3,}", span)):
            found = re.search(rf"^{name}\b.* = ", code, re.M)
            assert found, f"README.md names no file with {name}: {row[:40]}"


def test_its_formulas_name_every_gate():
    (row,) = re.findall(r"^\| gate \|.*$", README, re.M)
    for name in GATE_NAMES:
        function = GATE_KINDS[name].title.removesuffix(" gate")
        assert function in row, f"{function} in the row gate of the formulas in README.md"


def test_the_public_interface_is_importable():
    for name in gating_core.__all__:
        assert getattr(gating_core, name) is not None


def test_its_table_has_every_page_and_counts_what_there_is():
    rows = dict(re.findall(r"^\| \*([^*|]+)\* \| (.*) \|$", README, re.M))
    assert list(rows) == list(PAGES), "the table of pages in README.md"
    counted = {"kinds of attention": gating_core.VARIANTS, "tasks": TASKS, "gates on a": GALLERY}
    for things, found in counted.items():
        (count,) = re.findall(rf"(\w+) {things}", " ".join(rows.values()))
        assert NUMBERS.index(count) == len(found), f"{count} {things} in README.md: {len(found)}"
