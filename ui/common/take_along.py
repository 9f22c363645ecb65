"""The popover *Take along*: what a page shows, as files that say where they come from.

    offered().charts[tab] = charts  # `Charts.draw_footer` does this for every chart and table

What it makes of an offer is made when a file is asked for: every page draws this.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import streamlit as st

from ui.common.lessons import section
from ui.common.links import CAMERA, current_link
from ui.common.share import citation, commit, shared_link
from ui.common.simplified import HIDE, LOCK, PRESENT, VIEW, View
from ui.components.figures import figures

if TYPE_CHECKING:  # torch comes with it, and every page draws this before torch is there
    from gating_core.experiments.comparison import TrainedRun
    from gating_core.export import Surface

OFFER = "_offer"
LOOKS = {HIDE, LOCK, PRESENT, CAMERA}  # parameters that change how a page is seen, not its numbers
DIGEST_LETTERS = 12
NAME_LETTERS = 80
UNITS = {
    "K": "1 / length^2",
    "error of K": "1 / length^2",
    "|H|": "1 / length",
    **{f"y{i}": "length" for i in (1, 2, 3)},
}
PACKAGES = ("torch", "numpy", "scipy", "streamlit", "plotly")


class Tables(Protocol):
    """An object with tables: `Charts`."""

    def csv_files(self) -> dict[str, str]:
        """Return a CSV by the name of each chart and table."""


class File(NamedTuple):
    """A file, made when it is asked for from the line that it prints; or why there is none."""

    name: str
    make: Callable[[str], bytes | str]
    icon: str = ":material/download:"
    problem: str | None = None


class LongFile(NamedTuple):
    """A file that takes seconds: a job makes it.

    ``stream``, given the line that the file prints, yields shares done and last the file;
    ``about`` says what it is made of.
    """

    name: str
    about: Hashable
    stream: Callable[[str], Iterator[Any]]
    icon: str = ":material/description:"


class OfferedSurface(NamedTuple):
    """A surface, given the line that its files print; ``name`` is what their names begin with."""

    name: str
    make: Callable[[str], Surface]


@dataclass(eq=False)
class Offer:
    """Everything that the page being drawn can give away.

    Attributes:
        page: The title of the page.
        name: What the names of files begin with; by default the tab and the link.
        settings: Whatever else describes the state: its seeds among it.
        charts: The charts and tables by tab.
        surfaces: By their names.
        files: Whatever else can be taken, by the label of its button.
    """

    page: str = ""
    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    charts: dict[str, Tables] = field(default_factory=dict)
    surfaces: dict[str, OfferedSurface] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)


@dataclass(frozen=True)
class Stamp:
    """Where files come from; all those of one state of a page have one ``digest``."""

    page: str
    link: str
    digest: str
    version: str
    commit: str

    @property
    def line(self) -> str:
        """One line of ASCII to be printed in a file."""
        text = f"digest {self.digest}; {self.page}; {self.link}; commit {self.commit[:12]}"
        return text.encode("ascii", "replace").decode()


def begin(page: str) -> None:
    """Forget what the page before, or this one in another state, has offered."""
    st.session_state[OFFER] = Offer(page)


def offered() -> Offer:
    """Return what the page that is being drawn offers, to be added to."""
    offer: Offer = st.session_state.setdefault(OFFER, Offer())
    return offer


def offer_notebook(
    title: str,
    name: str,
    code: tuple[str, str],
    dim: int,
    shown: tuple[float, float],
    at: tuple[float, float] | None = None,
    problem: str | None = None,
) -> None:
    """Offer a notebook that measures a surface again.

    Args:
        title: Of the notebook.
        name: Of its file, without the ending.
        code: Imports, and lines of Python that make ``surface``.
        dim: Dimensions of its outputs.
        shown: The number on the page and its error, which the notebook compares with.
        at: The point at which that is K; without one it is the total curvature.
        problem: Why there is no notebook.
    """

    def make(line: str) -> str:
        from gating_core.export import notebook_text

        return notebook_text(title, line, *code, dim, shown, at)

    if not all(map(isfinite, shown)):
        problem = problem or "There is no K with an error at the marked point to compare with."
    offered().files["Notebook"] = File(
        f"{file_name(name)}.ipynb", make, ":material/menu_book:", problem
    )


def draw_take_along(title: str) -> None:
    """Draw the popover of the page called ``title``, after all that it shows; in no fragment."""
    with st.popover(
        "Take along",
        icon=":material/download:",
        type="tertiary",
        key="take_along",
        on_change="rerun",
    ) as popover:
        if not popover.open:
            return
        offer, stamp = offered(), stamp_of(title)
        name = file_name(offer.name) if offer.name else default_name(offer, current_link())
        if not (offer.charts or offer.surfaces or offer.files):
            st.markdown("This page shows no chart, table or surface in this state.")
            return
        view: View = st.session_state[VIEW]
        drawn = {name: st.session_state[name] for name in view.labels if name in st.session_state}
        about = about_text(stamp, offer, drawn)
        data = File(f"{name}.zip", partial(data_zip, offer, about), ":material/table:")
        with st.container(horizontal=True, key="take_files"):
            _draw_files({"Data (CSV, zipped)": data} | offer.files, stamp.line)
        figures("take_figures", name, stamp.line)
        if offer.surfaces:
            _draw_surfaces(offer.surfaces, stamp.line)
        st.caption(f"All files of this state carry the digest `{stamp.digest}`.")


def _draw_files(files: Mapping[str, File], line: str) -> None:
    for label, file in files.items():
        st.download_button(
            label,
            "" if file.problem else partial(file.make, line),
            file.name,
            icon=file.icon,
            key=f"take_{label}",
            on_click="ignore",
            disabled=bool(file.problem),
            help=file.problem,
        )


def _draw_surfaces(offer: Mapping[str, OfferedSurface], line: str) -> None:
    """Draw the choice of a surface and a button for each of its files, made by a worker."""
    from gating_core.export import no_solid, picture_file, surface_file
    from ui.work import pool

    names = [*offer]
    shown = st.selectbox("Surface", names, len(names) - 1, key="take_surface")
    name, surface = offer[shown].name, offer[shown].make(line)

    def file(ending: str, icon: str, problem: str | None = None) -> File:
        return File(
            f"{file_name(name)}.{ending}",
            lambda line: pool.POOL.call(surface_file, surface, ending),
            f":material/{icon}:",
            problem,
        )

    if not surface.cells.any():
        st.caption("No cell of this surface has four resolved corners: there is no file of it.")
        return
    reason = no_solid(surface)
    with st.container(horizontal=True, key="take_solids"):
        _draw_files({
            "STL, solid": file("stl", "print", reason and f"No solid: {reason}."),
            "PLY": file("ply", "palette"), "GLB": file("glb", "view_in_ar"),
            "VTP, all fields": file("vtp", "science"),
        }, line)  # fmt: skip
        about = sha256(surface_file(surface, "ply")).digest()  # all that is drawn is in it
        picture = LongFile(
            f"{file_name(name)}.png",
            about,
            lambda line: pool.POOL.stream(picture_file, surface),
            ":material/image:",
        )
        _draw_long("Picture, 3,000 px", picture, line)
    fields = dict.fromkeys(re.sub("^(gate|weight) .*", r"\1s", name) for name in surface.fields)
    st.caption(section("take", "surface", fields=", ".join(fields)))


def _draw_long(label: str, file: LongFile, line: str) -> None:
    """Draw the button that starts the job of a file, its progress, then the file."""
    from ui.work import jobs
    from ui.work.jobs import State

    what, about = f"Making {file.name}", (file.name, file.about, line)
    making: jobs.Jobs[Hashable, bytes] = jobs.Jobs(label, lambda about: file.stream(line))
    job = jobs.current(label)
    if job is None or job.requests != (about,):
        job = None
    elif job.state is State.DONE:
        made = File(file.name, lambda line: job.results[about], file.icon)
        _draw_files({f"Save {label}": made}, line)
        return

    def start() -> None:
        making.start(about)

    st.button(
        label,
        icon=file.icon,
        key=f"take_{label}",
        on_click=start,
        disabled=job is not None and not job.over,
    )
    if job is not None:
        jobs.draw_end(job, what)
        jobs.watch(job, what)


def stamp_of(page: str) -> Stamp:
    """Return where files of ``page`` in its state come from."""
    state = {name: texts for name, texts in sorted(current_link().items()) if name not in LOOKS}
    code = str(citation()["version"]), commit()
    digest = sha256(json.dumps([page, state, *code]).encode()).hexdigest()[:DIGEST_LETTERS]
    link = shared_link({name: [] for name in LOOKS})
    return Stamp(page, link, digest, *code)


def default_name(offer: Offer, link: Mapping[str, list[str]]) -> str:
    """Return a file's name that says which tab was shown, and what its ``link`` asks for."""
    tabs = [*offer.charts] or [offer.page]
    parts = [
        tabs[0],
        *("".join([name, *texts]) for name, texts in sorted(link.items()) if name not in LOOKS),
    ]
    return file_name("_".join(parts))


def file_name(text: str) -> str:
    """Return ``text`` as the name of a file, without its ending."""
    plain = re.sub(r"[^\w.,=-]+", "-", text, flags=re.ASCII).strip("-_.")
    return plain[:NAME_LETTERS].rstrip("-_.,") or "page"


def about_text(stamp: Stamp, offer: Offer, drawn: Mapping[str, Any]) -> str:
    """Return `about.json`: page, link, settings, seeds, versions, commit, date and digest."""
    settings = {**drawn, **offer.settings}
    seeds = {name: value for name, value in settings.items() if "seed" in name}
    about = asdict(stamp) | {
        "settings": settings,
        "seeds": seeds,
        "versions": {name: _version(name) for name in PACKAGES},
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    return json.dumps(about, indent=2, default=str, ensure_ascii=False)


def data_zip(offer: Offer, about: str, line: str) -> bytes:
    """Return a ZIP file with ``about``, and a CSV for each chart, table and surface.

    Those of several tabs are in folders.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", about)
        for tab, charts in offer.charts.items():
            folder = f"{tab}/" if len(offer.charts) > 1 else ""
            for name, text in charts.csv_files().items():
                archive.writestr(f"{folder}{name}.csv", text)
        for surface in offer.surfaces.values():
            archive.writestr(f"{file_name(surface.name)}.csv", surface_csv(surface.make(line)))
    return out.getvalue()


def surface_csv(surface: Surface) -> str:
    """Return a line for every point of the grid: its place, and all fields with their units."""
    columns = {f"y{i + 1}": column for i, column in enumerate(surface.points.reshape(-1, 3).T)}
    columns |= {name: field.ravel() for name, field in surface.fields.items()}
    rows = zip(
        *(column.tolist() for column in columns.values()),
        surface.resolved.ravel().astype(int).tolist(),
        strict=True,
    )
    return csv_text([[*(with_unit(name, "1") for name in columns), "resolved"], *rows])


def with_unit(name: str, other: str = "") -> str:
    """Return the ``name`` of a quantity with its unit; ``other``: that of all but `UNITS`."""
    unit = UNITS.get(name, other)
    return f"{name} ({unit})" if unit else name


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows, the first of them the headings, as CSV."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# --- Models ---------------------------------------------------------------------------------------


def offer_model(run: TrainedRun, variant: str, member: int) -> None:
    """Offer all seeds of a ``variant`` as weights, and one ``member`` as a script beside them."""
    from gating_core.export import script_problem, script_text, weights_file

    ensemble = run.variants[variant].ensemble
    seeds = ensemble.seeds
    name = f"{run.setting.task}_{variant}_seeds{seeds[0]}-{seeds[-1]}_step{int(run.steps[-1])}"
    name = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII)
    weights, offer = f"{name}.safetensors", offered()
    offer.settings["seeds"] = [*seeds]
    offer.files["Weights"] = File(
        weights, lambda line: weights_file(ensemble, run.task, about(run, variant) | {"from": line})
    )
    offer.files["Script"] = File(
        f"{name}_seed{seeds[member]}.py",
        lambda line: f"{script_text(ensemble, seeds[member], weights)}\n# {line}\n",
        ":material/code:",
        script_problem(ensemble.config),
    )


def about(run: TrainedRun, variant: str) -> dict[str, object]:
    """Say in a file of weights of which run they are."""
    setting = run.setting
    return {field.name: getattr(setting, field.name) for field in fields(setting)} | {
        "variant": variant,
        "task": run.task.name,
        "own": setting.own is not None,
        "steps": int(run.steps[-1]),
    }
