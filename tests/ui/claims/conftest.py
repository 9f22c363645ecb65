"""Where is the study of a test kept? In a folder of its own, never in the user's."""

import pytest

from ui.claims.server import STORE


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The place of this server's store, where there is none yet."""
    path = tmp_path / "claims.sqlite"
    monkeypatch.setenv(STORE, str(path))
    return path
