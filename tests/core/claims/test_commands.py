"""Does the command line say what is, and does its exit code?"""

import re
import signal
from dataclasses import replace

import pytest

from gating_core.claims import CLAIMS, SELECTIONS, Store, verdicts
from gating_core.claims import __main__ as command_line
from gating_core.claims.__main__ import (
    COMPLETE,
    INCOMPLETE,
    NO_SCHEDULER,
    REFUSED,
    STOPPED,
    WRONG,
    main,
)
from gating_core.claims.price_verdicts import PRICE_CLAIMS, price_study
from tests.core.claims.made_rows import failed, made, stacks

WORDS = ["--tasks", "xor,linear", "--variants", "ungated,sigmoid,half", "--parts", "base,stacks",
         "--seeds", "2", "--steps", "3"]  # fmt: skip


@pytest.fixture
def done(path, tiny_rows):
    with Store(path) as store:
        store.write(tiny_rows)
    return path


def test_status_of_a_study_that_is_complete(done, capsys):
    assert main(["status", *WORDS, "--store", str(done)]) == COMPLETE
    out = capsys.readouterr().out
    assert "12 models and 32 stacks" in out
    assert "44 of 44 rows: complete" in out


def test_status_of_one_that_is_not(done, capsys):
    assert main(["status", "--store", str(done)]) == INCOMPLETE
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{done}: 12 models and 32 stacks"
    assert re.fullmatch(r"0 of 3,840 rows, about [1-9] min \d\d s left", second)


def test_a_complete_study_is_run_in_no_time(done, capsys):
    assert main(["run", *WORDS, "--store", str(done)]) == COMPLETE
    assert capsys.readouterr().err == "44 of 44 rows: complete\n"


def test_export_says_where_it_has_written(done, tmp_path, capsys):
    assert main(["export", "--store", str(done), str(tmp_path / "out")]) == COMPLETE
    paths = capsys.readouterr().out.split()
    assert paths == [str(tmp_path / "out" / name) for name in ("models.csv", "stacks.csv")]
    (tmp_path / "file").touch()
    assert main(["export", "--store", str(done), str(tmp_path / "file")]) == INCOMPLETE


def test_the_report_has_every_verdict_rule_and_number(path, tmp_path, capsys):
    with Store(path) as store:
        store.write([failed(made()[0]), *made()[1:], *stacks()])
        rows = store.models(), store.stacks()
    out = tmp_path / "out"
    for _ in range(2):  # the second replaces the first
        assert main(["report", "--store", str(path), str(out)]) == COMPLETE
        assert capsys.readouterr().out.split() == [str(out / "claims.md")]
    text = (out / "claims.md").read_text(encoding="utf-8")
    assert [*out.iterdir()] == [out / "claims.md"]
    prices = {name: claim.judge(price_study()) for name, claim in PRICE_CLAIMS.items()}
    for name, one in (verdicts(*rows) | prices).items():
        claim = (CLAIMS | PRICE_CLAIMS)[name]
        assert f"\n## {name} {claim.title}: {one.word}\n" in text
        for told in (one.sentences, *claim.rule().values(), *one.gaps):
            assert told in text
        for row in one.table:
            cells = [cell.replace("|", r"\|") for cell in row.values()]
            assert f"| {' | '.join(cells)} |" in text
    assert "failed: linear, ungated, seed 0" in text
    (tmp_path / "file").touch()
    assert main(["report", "--store", str(path), str(tmp_path / "file")]) == INCOMPLETE


@pytest.mark.parametrize("command", ["run", "status", "export", "report"])
def test_a_file_that_is_no_store_is_refused(path, capsys, command):
    path.write_text("something else")
    assert main([command, "--store", str(path)]) == REFUSED
    assert "no store" in capsys.readouterr().err
    assert path.read_text() == "something else"


@pytest.mark.parametrize("command", ["run", "status", "export", "report"])
def test_a_home_where_no_folder_can_be_made(tmp_path, monkeypatch, capsys, command):
    """A file stands where the folder of the store should be."""
    (tmp_path / "home").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert main([command]) == REFUSED
    (line,) = capsys.readouterr().err.splitlines()
    assert "claims.sqlite cannot be" in line
    assert ("name another file with --store" in line) == (command == "run")


def test_a_second_run_beside_another_is_refused_in_one_sentence(done, capsys):
    with Store(done):
        assert main(["run", *WORDS, "--store", str(done)]) == REFUSED
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"another process runs a study in {done}: wait for its end")
        assert main(["status", *WORDS, "--store", str(done)]) == COMPLETE


@pytest.mark.parametrize(("words", "grid", "change"), [
    ([], "full", {}), (["--v2"], "v2", {}),
    (["--only", "C1"], "full", {"only": "C1"}), (["--only", "C4"], "v2", {"only": "C4"}),
    (["--full", "--only", "C4"], "full", {"only": "C4"}),
    (["--v2", "--first", "96", "--seeds", "16"], "v2", {"first_seed": 96, "seed_count": 16}),
])  # fmt: skip
def test_a_claim_alone_is_trained_on_the_seeds_that_decide_it(words, grid, change):
    assert command_line._options(["run", *words])[1] == replace(SELECTIONS[grid], **change)


def test_a_scheduler_that_is_not_there(path, capsys):
    assert main(["run", *WORDS, "--store", str(path), "--scheduler", "nonsense"]) == NO_SCHEDULER
    assert "no Dask scheduler answers at 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--tasks", "hexagon"], "hexagon"),
        (["run", "--seeds", "0"], "seeds is 0"),
        (["run", "--seeds", "many"], "invalid int"),
        (["run", "--workers", "0"], "whole number from 1 to"),
        (["run", "--workers", "100000"], "4 for each core"),
        (["run", "--only", "C9"], "C9"),
        (["run", "--quick", "--full"], "not allowed"),
        (["walk"], "invalid choice"),
        ([], "required"),
    ],
)
def test_what_cannot_be_asked(words, said, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == WRONG
    assert said in capsys.readouterr().err


def test_an_interrupt_whose_exception_is_lost_ends_a_run(path, monkeypatch):
    """As one that arrives in a callback of the garbage collector, where exceptions are ignored."""

    def study(*_):
        for _ in range(3):
            signal.raise_signal(signal.SIGINT)
            yield {"done": 0, "total": 2, "seconds_left": 1.0, "failures": [], "workers": 1,
                   "complete": False}  # fmt: skip
        raise AssertionError("it went on")

    monkeypatch.setattr(command_line, "run_study", study)
    assert main(["run", *WORDS, "--store", str(path)]) == STOPPED
