"""An audit that was not made is told apart from one that found nothing."""

import subprocess

import pytest

from tests import audit

CLEAN = {"name": "a", "version": "1", "vulns": []}
FLAWED = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ([CLEAN], "no known vulnerability in 1 packages"),
        ([CLEAN, FLAWED], "known vulnerabilities: b 2: PYSEC-1; b 2: PYSEC-2 in 2 packages"),
        ([CLEAN, SKIPPED], "no known vulnerability in 1 packages; not audited: c"),
        ([SKIPPED, SKIPPED], "not audited: every package was skipped"),
        ([], "not audited: every package was skipped"),
    ],
)
def test_what_is_said_of_a_report(packages, said):
    assert audit.verdict({"dependencies": packages}) == said


@pytest.mark.parametrize(
    ("codes", "output", "said"),
    [
        ([1], "", "not audited: pip-audit cannot be installed"),
        ([0, 1], "", "not audited: no network"),
        ([0, 1], "[]", "not audited: no network"),
        ([0, 0], '{"dependencies": []}', "not audited: every package was skipped"),
    ],
)
def test_what_could_not_be_audited_is_not_called_safe(monkeypatch, codes, output, said):
    answers = iter(codes)
    monkeypatch.setattr(
        audit.subprocess,
        "run",
        lambda command, **_: subprocess.CompletedProcess(command, next(answers), output, ""),
    )
    assert audit.audit() == said
