"""Is each protection that SECURITY.md lists on, in the server as it is started?"""

import ast
import socket
import sys
import tomllib
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tests.browser.serving import HOST
from tests.served import ROOT, ask, errors, session_of, started, token, upload, visit
from tests.test_boundaries import SOURCES, named
from ui.claims import running

MB = 1024 * 1024  # as Streamlit counts
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
LIMIT = CONFIG["server"]["maxUploadSize"] * MB
ELSEWHERE = "127.0.0.2"  # this machine, too, but not the address that is listened on


@pytest.fixture(scope="module")
def server():
    with started() as found:
        yield found


# --- The server -----------------------------------------------------------------------------------


def test_nobody_but_this_machine_is_listened_to(server):
    socket.create_connection((HOST, server.port), 5).close()
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection((ELSEWHERE, server.port), 5)


def test_a_page_of_another_site_gets_no_connection(server):
    for origin in ("http://far.test", "https://127.0.0.1.far.test", "null"):
        with pytest.raises(InvalidStatus) as refused, visit(server.port, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    with visit(server.port) as own:
        assert errors(own)[1] == []


def test_a_page_of_another_site_may_read_no_answer(server):
    _, _, headers = ask(
        server.port, "GET", "/_stcore/health", headers={"Origin": "http://far.test"}
    )
    allowed = {text for name, text in headers.items() if "allow-origin" in name.lower()}
    assert not allowed & {"*", "http://far.test"}


def test_an_upload_needs_the_token_of_the_pages_own_visitor(server):
    with visit(server.port) as own:
        session, mine, other = session_of(own), token(server.port), token(server.port)
        assert mine
        assert mine != other
        for handed, cookie in (("", ""), ("", mine), (mine, ""), ("2|a|b|1", mine)):
            assert upload(server.port, session, b"x,y,label\n", handed, cookie) == 403
        assert upload(server.port, session, b"x,y,label\n", mine, mine) == 204
        assert upload(server.port, "nobody", b"x,y,label\n", mine, mine) == 400


def test_an_upload_above_the_limit_is_refused(server):
    with visit(server.port) as own:
        session, mine = session_of(own), token(server.port)
        assert upload(server.port, session, bytes(LIMIT - MB // 2), mine, mine) == 204
        assert upload(server.port, session, bytes(LIMIT + 1), mine, mine) == 413


@pytest.mark.parametrize("path", ["app.py", "README.md", ".streamlit/config.toml", ".git/HEAD"])
@pytest.mark.parametrize(
    "way", ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "%252e%252e/", "./../", "//"]
)  # fmt: skip
def test_of_files_only_those_in_static_are_served(server, way, path):
    wanted = (ROOT / path).read_bytes() if (ROOT / path).is_file() else b"ref: refs/heads"
    for start in ("/app/static/", "/app/static/x/../", "/"):
        _, body, _ = ask(server.port, "GET", start + way + path)
        assert wanted[:60] not in body


def test_a_link_out_of_static_is_not_followed(server, tmp_path):
    link = ROOT / "static" / "test_link.txt"
    (tmp_path / "secret.txt").write_text("far from static")
    link.symlink_to(tmp_path / "secret.txt")
    try:
        _, body, _ = ask(server.port, "GET", f"/app/static/{link.name}")
    finally:
        link.unlink()
    assert b"far from static" not in body


def test_settings_say_all_that_on_purpose():
    """Not because it happens to be Streamlit's default today."""
    server = CONFIG["server"]
    assert server["address"] == HOST
    assert server["enableCORS"] is True
    assert server["enableXsrfProtection"] is True
    assert server["maxUploadSize"] == 1
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"


# --- The code -------------------------------------------------------------------------------------

RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
RUNS_DATA = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "_pickle"}
RUNS_PROGRAMS = {"os.system", "os.popen", "os.execv", "subprocess", "multiprocessing"}
PICKLES = Path("ui/work/messages.py")  # what travels to our own worker processes and back
STARTS = (  # processes of ours, by commands whose first words are constant
    Path("ui/claims/running.py"),
    Path("ui/work/pool.py"),
)


def calls(source: str) -> list[tuple[str, ast.Call]]:
    """Every call with the dotted name of what is called."""
    return [(ast.unparse(node.func), node) for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call)]  # fmt: skip


def imported(source: str) -> set[str]:
    """Roots of all imported modules."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def problems(source: str) -> list[str]:
    """What in a file could run, or draw as HTML, what somebody else wrote."""
    found = sorted(imported(source) & RUNS_PROGRAMS)
    for name, call in calls(source):
        words = {k.arg: k.value for k in call.keywords}
        if name in RUNS_TEXT or name in RUNS_PROGRAMS:
            found.append(name)
        if name.endswith("torch.load"):
            only = words.get("weights_only")
            if not (isinstance(only, ast.Constant) and only.value is True):
                found.append("torch.load without weights_only")
        if name.endswith(("np.load", "numpy.load")) and "allow_pickle" in words:
            found.append("numpy.load that may pickle")
        found += [word for word in words if word and word.startswith("unsafe_allow")]
        if name.endswith((".html", ".iframe")) and name.split(".")[0] in ("st", "components"):
            text = call.args[0] if call.args else None
            if not (isinstance(text, ast.Name) and text.id.isupper()):  # a file of our own
                found.append("HTML that is not constant")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_nothing_of_somebody_elses_is_run_or_drawn_as_html(path):
    allowed = ["subprocess"] if path.relative_to(ROOT) in STARTS else []
    assert problems(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize("path", STARTS, ids=str)
def test_no_shell_reads_what_is_started(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    found = [(name, call) for name, call in calls(source) if name.startswith("subprocess.")]
    assert [name for name, _ in found] == ["subprocess.Popen"]
    for _, call in found:
        assert "shell" not in {keyword.arg for keyword in call.keywords}
        assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr)  # words, not a line


def test_a_study_is_one_command_whatever_is_chosen(tmp_path, monkeypatch):
    class Halted(OSError):
        pass

    def popen(command, **_):
        asked.append(command)
        raise Halted(0, "halted")

    asked = []
    monkeypatch.setattr(running.subprocess, "Popen", popen)
    said = running.start(("--tasks", "xor; rm -rf ~"), "somebody", tmp_path / "store.sqlite")
    assert "halted" in said
    words = ("run", "--tasks", "xor; rm -rf ~", "--json", "--store", str(tmp_path / "store.sqlite"))
    assert asked == [(sys.executable, "-m", "gating_core.claims", *words)]


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "exec(x)", "__import__(x)", "torch.load(f)", "torch.load(f, weights_only=False)",
     "os.system(x)", "import subprocess", "st.markdown(x, unsafe_allow_html=True)", "st.html(x)",
     "st.html(f'<b>{x}</b>')", "np.load(f, allow_pickle=True)", "st.html()",
     "st.components.v1.html(x)", "st.html(STYLE, unsafe_allow_javascript=True)"],
)  # fmt: skip
def test_what_would_be_found(source):
    assert problems(source)


def test_what_may_be():
    assert not problems("st.html(STYLE); re.compile(x); torch.load(f, weights_only=True)")


def test_one_file_alone_unpickles_and_only_for_our_own_workers():
    found = [path.relative_to(ROOT) for path in SOURCES
             if imported(path.read_text(encoding="utf-8")) & RUNS_DATA]  # fmt: skip
    assert found == [PICKLES]
    using = {path.relative_to(ROOT) for path in SOURCES
             if "ui.work.messages" in path.read_text(encoding="utf-8")}  # fmt: skip
    assert using == {Path("ui/work/pool.py"), Path("ui/work/worker.py")}
