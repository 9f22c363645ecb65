"""Every package imports only what it may, and nothing leaves the machine."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from gating_core.experiments.instance import COLOURINGS
from tests.browser.addresses import ADDRESSES
from tests.each import each
from ui.common.bar import PAGES, address
from ui.common.lessons import sections
from ui.components import pair  # noqa: F401  (components are made at import)

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("gating_core", "ui", "pages")
SOURCES = sorted(
    [*(path for name in FOLDERS for path in (ROOT / name).rglob("*.py")), ROOT / "app.py"]
)
SHIPPED = (".py", ".js", ".css", ".html", ".toml")
SVG_NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which nobody fetches

GROUND = {"assets", "characters", "checks", "numerals", "randomness",
          "rational", "points_last", "process", "progress", "records"}  # fmt: skip
MAY_IMPORT = {  # rooms of the core, besides themselves
    **{name: set() for name in GROUND},
    "records": {"assets"},
    "attention": GROUND,
    "tasks": GROUND,
    "jets": GROUND,
    "training": GROUND | {"attention", "tasks"},
    "geometry": GROUND | {"jets"},
    "proved": GROUND | {"jets", "geometry"},
    "theory": GROUND | {"attention", "jets", "geometry", "proved"},
    "experts": GROUND | {"attention", "tasks", "training", "experiments", "export", "claims"},
    "measurement": GROUND | {"jets", "geometry"},
    "export": GROUND | {"attention", "tasks", "training"},
    "checkpoints": GROUND | {"attention", "jets", "geometry"},
    # With tests and intervals over seeds.
    "lm": GROUND | {"attention", "claims", "export", "training"},
    # With intervals over layers and seeds.
    "real_heads": GROUND | {"checkpoints", "export", "jets", "geometry", "training"},
    "experiments": GROUND | {"attention", "tasks", "training", "jets", "geometry", "export"},
    "claims": GROUND
    | {"attention", "tasks", "training", "jets", "geometry", "proved", "experiments"},
}
UI_MAY_IMPORT = {  # rooms of the interface, besides themselves; a page's room may import all these
    "limits": set(),
    "foreign": set(),
    "drawing": {"limits", "foreign"},
    "components": {"drawing", "foreign", "limits"},
    "work": {"foreign", "limits"},
    "common": {"components", "drawing", "work", "limits", "foreign"},
    "proved": {"common", "components", "drawing", "work", "limits", "foreign"},
    "classroom": {"common", "components", "limits", "foreign"},
    # A lesson has the picture of another page.
    "learn": {
        "bent",
        "classroom",
        "common",
        "components",
        "drawing",
        "work",
        "limits",
        "foreign",
        "claims",
        "depth",
        "gates",
        "keys",
        "landing",
        "manifold",
        "proved",
    },
}
PURE = ("chart.py", "formatting.py", "picture.py", "request.py")  # without Streamlit
FACES = ("gating_core",
         *(f"gating_core.{room}" for room in MAY_IMPORT if room not in ("lm", "experiments")),
         "gating_core.experiments.comparison", "gating_core.experiments.depth",
         "gating_core.experiments.instance", "gating_core.experiments.measuring",
         *(f"gating_core.claims.{room}" for room in ("accuracy", "claim", "curvature", "growth",
           "pairs", "price_verdicts", "relation", "rows", "study", "text")))  # fmt: skip


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def dotted(node: ast.expr) -> str:
    """Names and attributes as they are written; "" in place of anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def imports(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Every imported module and the names taken from it, wherever the import stands."""
    result: list[tuple[str, tuple[str, ...]]] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            result += [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide where a name comes from"
            result.append((node.module or "", tuple(alias.name for alias in node.names)))
    return result


def modules(path: Path) -> set[str]:
    """Dotted names of all modules that a file may have imported, names taken from them included."""
    found = set()
    for module, names in imports(path):
        found |= {module, *(f"{module}.{name}" for name in names)}
    return found


def roots(path: Path) -> set[str]:
    return {module.split(".")[0] for module, _ in imports(path)}


def parts(path: Path) -> tuple[str, ...]:
    """The dotted name of a source file, without its package's ``__init__``."""
    found = path.relative_to(ROOT).with_suffix("").parts
    return found[:-1] if found[-1] == "__init__" else found


def rooms(path: Path, tower: str) -> set[str]:
    """Rooms of ``tower`` that a file imports from."""
    known = {place.stem for place in (ROOT / tower).iterdir() if place.stem != "__init__"}
    found = {name.split(".")[1] for name in modules(path) if name.startswith(f"{tower}.")}
    return found & known


def public(face: ModuleType) -> set[str]:
    """What a module shows: what it says, or all that it defines without an underscore."""
    said = getattr(face, "__all__", None)
    return set(said) if said else {name for name in vars(face) if not name.startswith("_")}


def core_sources() -> list[Path]:
    return [path for path in SOURCES if parts(path)[0] == "gating_core"]


def ui_sources() -> list[Path]:
    return [path for path in SOURCES if parts(path)[0] == "ui"]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- The core -------------------------------------------------------------------------------------


@pytest.mark.soak  # long
def test_the_core_runs_without_an_interface_and_says_in_one_sentence_what_an_extra_lacks():
    code = (
        "import sys, gating_core, gating_core.experiments.comparison\n"
        "import gating_core.experiments.depth, gating_core.experiments.instance\n"
        "import gating_core.claims\n"
        "assert not {'streamlit', 'plotly', 'ui'} & set(sys.modules)\n"
        f"assert not {set(ALONE)} & set(sys.modules)\n"
        f"sys.modules.update(dict.fromkeys({sorted(ALONE)}))  # as if not installed\n"
        "import pathlib, tempfile\n"
        "claims = gating_core.claims\n"
        "assert len(claims.verdicts([], [])) == 7\n"
        "store = claims.Store(pathlib.Path(tempfile.mkdtemp()) / 'claims.sqlite')\n"
        "try: list(claims.run_study(claims.SELECTIONS['quick'], store, 'tcp://127.0.0.1:8786'))\n"
        "except ImportError as error: text = str(error)\n"
        "assert text.startswith('a cluster needs the package distributed, which is not')\n"
        "assert text.endswith('pip install \"gating-curvature[claims]\"')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


ALONE = {"dask": "", "distributed": "study.py", "pandas": "", "pyarrow": ""}
# What only a Plotly figure says of itself: its parts, and how its points look and answer.
FIGURE_KEYS = {"hovertemplate", "customdata", "colorscale", "xaxis", "yaxis", "scene", "showlegend"}
TRACES = {"scatter", "scatter3d", "scattergl", "surface", "mesh3d", "heatmap", "contour", "bar",
          "isosurface", "volume", "histogram", "box", "violin"}  # fmt: skip


def drawings(path: Path) -> Iterator[str]:
    """Dictionaries that are figures of Plotly or parts of them, as text."""
    for node in ast.walk(tree(path)):
        pairs: list[tuple[object, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = [
                (key.value, value)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            ]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
            pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
        keys = {key for key, _ in pairs}
        kinds = {
            value.value for key, value in pairs if key == "type" and isinstance(value, ast.Constant)
        }
        if {"data", "layout"} <= keys or keys & FIGURE_KEYS or kinds & TRACES:
            yield ast.unparse(node)


@each(core_sources())
def test_the_core_draws_nothing_not_even_as_dictionaries(path):
    assert not [*drawings(path)]


@each(core_sources())
def test_few_files_of_the_core_know_what_only_the_study_needs(path):
    for name in roots(path) & set(ALONE):
        assert named(path) in [f"gating_core/claims/{file}" for file in ALONE[name].split()]


def test_every_room_of_the_core_has_a_row():
    """A new package must be entered in the table before it can be imported."""
    found = {parts(path)[1] for path in core_sources() if len(parts(path)) > 1}
    assert found == set(MAY_IMPORT)


@each(core_sources())
def test_the_core_imports_downwards(path):
    assert not roots(path) & {"streamlit", "plotly", "ui"}
    place = parts(path)
    if len(place) == 1:
        return  # the public face, which shows all rooms
    room = place[1]
    assert rooms(path, "gating_core") <= MAY_IMPORT[room] | {room}
    assert "gating_core" not in modules(path), "the public face is for others"


@each(core_sources())
def test_experiments_do_not_know_each_other(path):
    place = parts(path)
    if place[1:2] != ("experiments",) or place[-1] in ("experiments", "__main__"):
        return
    folders = {x.stem for x in (ROOT / "gating_core" / "experiments").iterdir()} - {"measuring"}
    found = {
        name.split(".")[2] for name in modules(path) if name.startswith("gating_core.experiments.")
    }
    assert found & folders <= {place[2]}, "what two experiments share stands beside them"


# --- The interface --------------------------------------------------------------------------------


def test_every_room_of_the_interface_has_a_row():
    found = {parts(path)[1] for path in ui_sources() if len(parts(path)) > 1}
    of_pages = set().union(
        *(rooms(path, "ui") for path in SOURCES if parts(path)[0] in ("pages", "app"))
    )
    assert found == of_pages | set(UI_MAY_IMPORT), "a room is a page's own, or has a row"


@pytest.mark.soak
def test_a_process_that_computes_is_settled_and_starts_no_streamlit():
    code = (
        "import gc, sys, torch, ui.work.worker, ui.decision_boundary.frames\n"
        "assert torch.get_num_threads() == 1 and gc.get_freeze_count() > 10_000\n"
        "assert 'streamlit' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.soak
def test_the_head_of_a_page_takes_no_torch():
    """It is on the screen before what takes a second to import."""
    code = "import sys, ui.common.page\nassert not {'torch', 'pandas', 'scipy'} & {*sys.modules}\n"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@each(ui_sources())
def test_the_interface_imports_downwards(path):
    place = parts(path)
    if len(place) == 1:
        return
    allowed = UI_MAY_IMPORT.get(place[1], set(UI_MAY_IMPORT)) | {place[1]}
    assert rooms(path, "ui") <= allowed


@each(ui_sources())
def test_the_interface_sees_only_faces(path):
    for module, names in imports(path):
        if module.split(".")[0] != "gating_core" or module.startswith("gating_core.lm."):
            continue  # language models have no faces
        assert module in FACES, f"{module} is inside a package; import from its face"
        face = importlib.import_module(module)
        assert not set(names) - public(face)


@each(ui_sources())
def test_what_draws_and_what_writes_know_no_streamlit(path):
    if parts(path)[1:2] == ("drawing",) or path.name in PURE:
        assert "streamlit" not in roots(path)


@each(SOURCES)
def test_torch_stays_in_the_core(path):
    place = parts(path)
    if place[0] == "gating_core" or place == ("ui", "work", "worker"):
        return
    assert "torch" not in roots(path)
    if place[0] in ("pages", "app"):
        assert roots(path) <= {"streamlit", "ui", "pathlib"}


# --- Keys that must agree -------------------------------------------------------------------------


def test_every_page_is_a_row_and_every_row_a_page():
    found = {named(path) for path in (ROOT / "pages").glob("*.py")}
    assert {page.path for page in PAGES.values()} == found, "rows of PAGES in ui/common/bar.py"
    for title, (path, *_) in PAGES.items():
        assert f'"{title}"' in (ROOT / path).read_text(encoding="utf-8")


@each(PAGES)
def test_a_page_checks_its_link(title):
    path = PAGES[title].path
    assert address(title) in ADDRESSES, f"{path} needs a row of ADDRESSES"
    files = (ROOT / "ui" / area_of(path)).rglob("*.py")
    bound = any(
        "query-params" in file.read_text(encoding="utf-8")
        or "LINK" in file.read_text(encoding="utf-8")
        for file in files
    )
    checks = "checked_link(" in (ROOT / path).read_text(encoding="utf-8")
    assert checks or not bound or area_of(path) == "common"


def area_of(path: str) -> str:
    """The folder of ``ui`` whose tabs the page in the file ``path`` draws."""
    imported = (module for module, _ in imports(ROOT / path) if module.startswith("ui."))
    folders = [module.split(".")[1] for module in imported]
    return next((name for name in folders if name not in ("common", "work")), "common")


def test_every_quantity_is_explained():
    for name in COLOURINGS:
        text = sections("manifold").get(f"quantity_{name}", "")
        assert len(text.split("\n\n")) == 3, (
            f"assets/lessons/manifold.md needs a section quantity_{name} of three paragraphs"
        )


# --- Faces ----------------------------------------------------------------------------------------


@each([name for name in FACES if hasattr(importlib.import_module(name), "__path__")])
def test_every_face_keeps_its_word(name):
    face = importlib.import_module(name)
    assert face.__all__, name
    assert all(hasattr(face, shown) for shown in face.__all__)
    assert not [shown for shown in face.__all__ if shown.startswith("_")]
    assert len(set(face.__all__)) == len(face.__all__)


@each([path for path in SOURCES if path.name == "__init__.py"])
def test_every_package_says_in_its_first_line_what_it_is_for(path):
    text = ast.get_docstring(tree(path))
    assert text, f"{path} needs a docstring"
    assert text.splitlines()[0][-1] in "?.)"


# --- Manners --------------------------------------------------------------------------------------


def test_nothing_shipped_names_a_host():
    """Nothing is fetched from elsewhere, in whichever language it is written."""
    files = [
        path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.suffix in SHIPPED
    ]
    assert {".py", ".js", ".css", ".html"} <= {path.suffix for path in files}
    for path in [*files, ROOT / "app.py", ROOT / ".streamlit" / "config.toml"]:
        text = path.read_text(encoding="utf-8").replace(SVG_NAMESPACE, "")
        assert "http://" not in text, path
        assert "https://" not in text, path


def test_no_global_random_state():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert "torch.manual_seed(" not in text, path
        assert "np.random.seed(" not in text, path
