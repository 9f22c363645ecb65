"""The protections that SECURITY.md lists, in the server as it is started."""

import ast
import socket
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tests.browser.serving import HOST
from tests.each import each
from tests.served import ROOT, XSRF, ask, send_file, started, token
from tests.tab import nothing_wrong, visited
from tests.test_boundaries import SOURCES, dotted
from ui.claims import study

MB = 1024 * 1024  # as Streamlit counts
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
LIMIT = CONFIG["server"]["maxUploadSize"] * MB
ELSEWHERE = "127.0.0.2"  # an address of this machine that is not listened on


# --- The server -----------------------------------------------------------------------------------


def test_only_the_loopback_address_is_listened_on(server):
    socket.create_connection((HOST, server.port), 5).close()
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection((ELSEWHERE, server.port), 5)


def test_a_page_of_another_site_gets_no_connection(server):
    for origin in ("http://far.test", "https://127.0.0.1.far.test", "null"):
        with pytest.raises(InvalidStatus) as refused:
            visited(server.url, nothing_wrong, origin=origin)
        assert refused.value.response.status_code == 403


def test_a_page_of_another_site_may_read_no_answer(server):
    _, _, headers = ask(server.url, "GET", "/_stcore/health", headers={"Origin": "http://far.test"})
    allowed = {text for name, text in headers.items() if "allow-origin" in name.lower()}
    assert not allowed & {"*", "http://far.test"}


def accepted(server, host):
    """Whether a page of this host, which somebody's name service lets point here, is connected."""
    key = "Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Version: 13\r\n"
    upgrade = f"Connection: Upgrade\r\nUpgrade: websocket\r\n{key}"
    with socket.create_connection((HOST, server.port), 5) as connection:
        head = f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{upgrade}"
        connection.sendall(f"{head}\r\n".encode())
        return b" 101 " in connection.recv(100)


def test_on_this_machine_the_server_has_the_names_of_this_machine(server):
    assert all(accepted(server, name) for name in ("localhost:8501", "127.0.0.1", "[::1]:8501"))
    assert not any(
        accepted(server, name) for name in ("far.test", "127.0.0.1.far.test", "10.0.0.1")
    )


@pytest.mark.soak  # two servers
def test_for_others_it_has_any_name_and_behind_a_proxy_the_one_that_is_given():
    with started(options=("--server.address", "0.0.0.0")) as server:
        assert all(accepted(server, name) for name in ("10.0.0.1:8501", "school.test", "localhost"))
    with started(environment={"STREAMLIT_SERVER_ALLOWED_HOSTS": "gating.example.org"}) as server:
        assert accepted(server, "gating.example.org")
        assert not accepted(server, "far.test")


def test_a_link_of_a_hundred_kilobytes_still_gets_its_page(server):
    """Which says what of it is not used."""
    status, body, _ = ask(server.url, "GET", f"/Which_gates_curve?formula={'u' * 100_000}")
    assert status == 200
    assert b"<script" in body


def test_an_upload_needs_the_token_of_its_session_and_has_a_limit(server):
    mine, other = token(server.url), token(server.url)
    assert mine
    assert mine != other

    def statuses(session):
        def upload(content, header, cookie, session_id=session.session_id):
            path = f"/_stcore/upload_file/{session_id}/f1"
            return send_file(server.url, path, content, header, {XSRF: cookie} if cookie else {})

        for header, cookie in (("", ""), ("", mine), (mine, ""), ("2|a|b|1", mine)):
            assert upload(b"x,y,label\n", header, cookie) == 403
        assert upload(b"x,y,label\n", mine, mine) == 204
        assert upload(b"x,y,label\n", mine, mine, "nobody") == 400
        assert upload(bytes(LIMIT - MB // 2), mine, mine) == 204
        assert upload(bytes(LIMIT + 1), mine, mine) == 413
        return nothing_wrong(session)

    assert visited(server.url, statuses, "data=own", page="Decision_boundary") == ""


WAYS = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "%252e%252e/", "./../", "//")


@pytest.mark.parametrize("path", ["app.py", ".streamlit/config.toml", ".git/HEAD"])
def test_no_file_of_the_server_is_served(server, path):
    content = (ROOT / path).read_bytes() if (ROOT / path).is_file() else b"ref: refs/heads"
    for start in ("/app/static/", "/app/static/x/../", "/"):
        for way in WAYS:
            assert content[:60] not in ask(server.url, "GET", start + way + path)[1], (start, way)


def test_settings_say_all_that_on_purpose():
    """And not by default."""
    server = CONFIG["server"]
    assert server["address"] == HOST
    assert server["enableCORS"] is True
    assert server["enableXsrfProtection"] is True
    assert server["maxUploadSize"] == 1
    assert server["enableAgentApi"] is False
    assert server["allowedHosts"] == ["localhost", HOST, "::1"]
    assert server["disconnectedSessionTTL"] <= 5
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"


def test_a_class_is_not_moved_without_its_teachers_cookie(server):
    """Nor does a page of another site take part, or a forged link give the teacher's rights."""
    for path in ("/teach/forged", "/c/nobody/state"):
        status, body, headers = ask(server.url, "GET", path)
        assert status == 410
        assert "class_teacher" not in str(headers)
    for origin in ("http://far.test", "null"):
        status, _, _ = ask(server.url, "POST", "/c/nobody/join", headers={"Origin": origin})
        assert status == 403
    status, body, headers = ask(server.url, "GET", "/c/nobody")
    assert status == 200
    policies = [text for name, text in headers.items() if name.lower() == "content-security-policy"]
    assert "frame-ancestors 'none'" in "".join(policies)
    assert b"<h1" in body


# --- The code -------------------------------------------------------------------------------------

RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
RUNS_DATA = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "_pickle"}
RUNS_PROGRAMS = {"os.system", "os.popen", "os.execv", "subprocess", "multiprocessing"}
PICKLES = Path("ui/work/worker.py")  # messages to and from our own worker processes
# Coloured characters and a line over what is out of date, each escaped; a table of bundled numbers.
ESCAPED = tuple(map(Path, ("ui/steering/shared.py", "ui/common/page.py",
                           "ui/language_models/decision.py")))  # fmt: skip
STARTS = (  # processes of ours, by commands whose first words are constant
    Path("ui/claims/study.py"),
    Path("ui/work/pool.py"),
)


parse = cache(ast.parse)
STUDY = Path("gating_core/claims/study.py")  # processes of a study, which a command runs


def calls(source: str) -> list[tuple[str, ast.Call]]:
    """All calls, each with the dotted name of its function."""
    return [
        (dotted(node.func), node) for node in ast.walk(parse(source)) if isinstance(node, ast.Call)
    ]


def imported(source: str) -> set[str]:
    """Roots of all imported modules."""
    roots = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    return roots


def problems(source: str) -> list[str]:
    """What in a file could run foreign text, or draw it as HTML."""
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
        if name.endswith((".html", ".iframe")):
            text = call.args[0] if call.args else None
            if not (isinstance(text, ast.Name) and text.id.isupper()):  # a file of our own
                found.append("HTML that is not constant")
    return found


@each(SOURCES)
def test_no_foreign_text_is_run_or_drawn_as_html(path):
    place = path.relative_to(ROOT)
    allowed = ["subprocess"] if place in STARTS else ["multiprocessing"] if place == STUDY else []
    allowed += ["HTML that is not constant"] if place in ESCAPED else []
    assert problems(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize("path", STARTS, ids=str)
def test_processes_are_started_without_a_shell(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    found = [(name, call) for name, call in calls(source) if name.startswith("subprocess.")]
    assert [name for name, _ in found] in (["subprocess.Popen"], ["subprocess.run"])
    for _, call in found:
        assert "shell" not in {keyword.arg for keyword in call.keywords}
        assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr)  # words, not a line


def test_a_study_is_one_command_without_a_choice(tmp_path, monkeypatch):
    class Halted(OSError):
        pass

    def popen(command, **_):
        commands.append(command)
        raise Halted(0, "halted")

    commands = []
    monkeypatch.setattr(study.subprocess, "Popen", popen)
    assert "halted" in study.start(tmp_path / "store.sqlite")
    words = ("run", "--quick", "--store", str(tmp_path / "store.sqlite"))
    assert commands == [(sys.executable, "-m", "gating_core.claims", *words)]


@each(
    ["eval(x)", "exec(x)", "__import__(x)", "torch.load(f)", "torch.load(f, weights_only=False)",
     "os.system(x)", "import subprocess", "st.markdown(x, unsafe_allow_html=True)", "st.html(x)",
     "st.html(f'<b>{x}</b>')", "np.load(f, allow_pickle=True)", "st.html()",
     "st.components.v1.html(x)", "st.html(STYLE, unsafe_allow_javascript=True)"],
)  # fmt: skip
def test_dangerous_calls_are_found(source):
    assert problems(source)


def test_harmless_calls_are_not():
    assert not problems("st.html(STYLE); re.compile(x); torch.load(f, weights_only=True)")


def test_one_file_unpickles_and_only_for_our_own_workers():
    found = [
        path.relative_to(ROOT)
        for path in SOURCES
        if imported(path.read_text(encoding="utf-8")) & RUNS_DATA
    ]
    assert found == [PICKLES]
    using = {
        path.relative_to(ROOT)
        for path in SOURCES
        if "from ui.work.worker import" in path.read_text(encoding="utf-8")
    }
    assert using == {Path("ui/work/pool.py"), Path("ui/work/worker.py")}
