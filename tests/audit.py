"""`python -m tests.audit`: known vulnerabilities of the pinned requirements.

It always ends well: an audit that could not be made is said, and is no failure of the code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"
SECONDS = 120
INSTALL = [sys.executable, "-m", "pip", "install", "--quiet", "pip-audit"]
AUDIT = [sys.executable, "-m", "pip_audit", "--requirement", str(REQUIREMENTS), "--no-deps",
         "--disable-pip", "--format", "json", "--progress-spinner", "off"]  # fmt: skip


def verdict(report: dict[str, Any]) -> str:
    """What a report of pip-audit says, in one line.

    A package that was skipped has not been found to be without vulnerabilities.
    """
    packages = report["dependencies"]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    found = [
        f"{package['name']} {package['version']}: {flaw['id']}"
        for package in packages
        for flaw in package.get("vulns", ())
    ]
    audited = len(packages) - len(skipped)
    if not audited:
        return "not audited: every package was skipped"
    known = f"known vulnerabilities: {'; '.join(found)}" if found else "no known vulnerability"
    left_out = f"; not audited: {', '.join(skipped)}" if skipped else ""
    return f"{known} in {audited} packages{left_out}"


def audit() -> str:
    """The verdict on the pinned requirements, or why there is none."""
    try:
        if subprocess.run(INSTALL, capture_output=True, timeout=SECONDS).returncode:
            return "not audited: pip-audit cannot be installed"
        done = subprocess.run(AUDIT, capture_output=True, timeout=SECONDS, text=True)
        return verdict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return "not audited: no answer"
    except (ValueError, KeyError, TypeError):
        return "not audited: no network"


if __name__ == "__main__":
    print(f"Audit of the requirements: {audit()}.")
