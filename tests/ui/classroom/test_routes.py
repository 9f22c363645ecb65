"""Students' pages over HTTP: cookies, origins, sizes, and a path that they are served under."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from streamlit import config

from ui.classroom import routes as served
from ui.classroom.classes import CLASSES, NEXT, REVEAL, Question, Rates
from ui.learn.lessons import lessons, picture
from ui.learn.page import questions
from ui.limits import BODY_BYTES
from ui.work.guard import GUARDED

QUESTIONS = (Question("Flat?", ("yes", "no"), 0), Question("Curved?", ("yes", "no"), 1))
FILES = sorted(path.name for path in served.FILES.iterdir())
WHOLE_BYTES = 8000  # of all files of a student's page


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Client:
    """A browser's part of HTTP, without a socket: it keeps cookies."""

    scheme: str = "http"
    cookies: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.app = Starlette(routes=served.routes(), middleware=GUARDED)

    def ask(self, method, address, body=b"", **headers):
        path, _, query = address.partition("?")
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {
            "host": "class.test", "cookie": cookie, "content-length": str(len(body or b""))
        } | {name.replace("_", "-"): text for name, text in headers.items()}  # fmt: skip
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": query.encode(), "scheme": self.scheme, "root_path": "",
            "server": ("class.test", 80), "client": ("10.0.0.1", 1), "http_version": "1.1",
            "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
        }  # fmt: skip
        sent = []

        async def receive():
            if body is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        # In a thread of its own: a browser's tests before may have left a loop running in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self.app(scope, receive, send)).result()
        found = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        if "set-cookie" in found:
            name, _, value = found["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], found, content)

    def get(self, address):
        return self.ask("GET", address)

    def join(self, code, **headers):
        return self.ask("POST", f"/c/{code}/join", **headers)

    def vote(self, code, question, choice, **headers):
        body = json.dumps({"question": question, "choice": choice}).encode()
        return self.ask("POST", f"/c/{code}/vote", body, **headers)


@pytest.fixture
def room(monkeypatch):
    monkeypatch.setattr(CLASSES, "_starts", Rates(10, 1.0))
    return CLASSES.start(QUESTIONS)


@pytest.fixture
def client():
    return Client()


def test_a_page_is_small_and_the_same_for_everybody(client, room):
    page = client.get(f"/c/{room[0]}")
    assert page.status == 200
    assert page.body == client.get("/c/nobody").body
    assert "set-cookie" not in page.headers
    assert CLASSES.overview(room[0]).joined == 0
    assert sum(len(client.get(f"/c/file/{name}").body) for name in FILES) < WHOLE_BYTES
    assert client.get("/c/file/classes.py").status == 404
    assert client.get("/c/file/..%2fclasses.py").status == 404


def test_all_that_the_page_needs_is_on_this_server():
    texts = [(served.FILES / name).read_text(encoding="utf-8") for name in FILES]
    assert not [text for text in texts if re.search(r"https?://|innerHTML|<style|<script>", text)]


def test_a_participant_is_a_cookie_that_scripts_and_other_sites_do_not_get(client, room):
    code, _ = room
    cookie = client.join(code).headers["set-cookie"]
    assert f"Path=/c/{code}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=7200" in cookie
    assert "Secure" not in cookie
    assert "Secure" in Client("https").join(code).headers["set-cookie"]


def test_another_site_takes_no_part(client, room):
    code, _ = room
    for origin in ("http://far.test", "null", "http://class.test.far.test", ""):
        assert client.join(code, origin=origin).status == 403
        assert client.vote(code, 0, 0, origin=origin).status == 403
    assert client.join(code, origin="http://class.test").status == 200


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{", b"[" * 900, b'{"question": 0}', b"null", b"\xff", b'"0"',
    b'{"question": 0, "choice": 9}', b'{"question": 0, "choice": "0"}',
])  # fmt: skip
def test_what_is_no_vote_gets_a_sentence(client, room, body):
    code, _ = room
    client.join(code)
    answer = client.ask("POST", f"/c/{code}/vote", body)
    assert answer.status == 400
    assert answer.json["error"].endswith(".")
    assert CLASSES.overview(code).answered == 0


def test_what_is_long_is_not_read(client, room):
    code, _ = room
    client.join(code)
    for headers, status in (
        ({}, 413),
        ({"content_length": "5"}, 413),  # which is not believed
        ({"transfer_encoding": "chunked"}, 411),
        ({"transfer_encoding": "chunked", "content_length": "5"}, 411),
        ({"content_length": "-1"}, 413),
        ({"content_length": "9" * 5000}, 413),
    ):
        body = b"x" * (BODY_BYTES + 1)
        assert client.ask("POST", f"/c/{code}/vote", body, **headers).status == status


def test_a_phone_that_goes_while_it_votes_is_no_error(client, room):
    code, _ = room
    client.join(code)
    with pytest.raises(IndexError):  # nobody is answered
        client.ask("POST", f"/c/{code}/vote", None)


def test_a_code_in_capitals_leads_to_the_class(client, room):
    code, _ = room
    for typed in (code.upper(), f"{code}.", f"%20{code}"):
        answer = client.get(f"/c/{typed}")
        assert (answer.status, answer.headers["location"]) == (307, f"/c/{code}")
    assert client.get(f"/c/{code}").status == 200


def test_a_phone_gets_the_picture_of_a_lesson_and_after_the_reveal_the_other(client, monkeypatch):
    monkeypatch.setattr(CLASSES, "_starts", Rates(10, 1.0))
    code, secret = CLASSES.start(questions())
    lesson, address = next(iter(lessons().values())), f"/c/{code}/picture"
    state = client.join(code).json
    assert (state["picture"], state["alt"]) == ("0.0", lesson.alt["before"])
    assert client.get(f"{address}/0.0").body == picture(lesson, "before").read_bytes()
    assert client.get(f"{address}/0.1").status == 404
    CLASSES.act(code, secret, REVEAL, 0)
    state = client.get(f"/c/{code}/state").json
    assert (state["picture"], state["alt"]) == ("0.1", lesson.alt["after"])
    shown = client.get(f"{address}/0.1")
    assert shown.body == picture(lesson, "after").read_bytes()
    assert shown.headers["content-type"] == "image/webp"


def test_a_poll_says_when_nothing_has_changed_and_when_the_class_has_ended(client, room):
    code, secret = room
    version = client.join(code).json["version"]
    assert client.get(f"/c/{code}/state?since={version}").status == 204
    CLASSES.act(code, secret, REVEAL, 0)
    CLASSES.act(code, secret, NEXT, 0)
    assert client.get(f"/c/{code}/state?since={version}").json["text"] == "Curved?"
    CLASSES.act(code, secret, "end", 1)
    gone = client.get(f"/c/{code}/state?since={version}")
    assert (gone.status, gone.json["error"]) == (410, "This class has ended.")


def test_a_link_gives_the_teachers_cookie_once(client, room):
    code, secret = room
    token = CLASSES.token(code, secret)
    assert CLASSES.is_unused(token)
    for method in ("HEAD", "GET", "GET"):  # previews of the link
        offer = client.ask(method, f"/teach/{token}")
        assert offer.status == 200
        assert "set-cookie" not in offer.headers
    assert CLASSES.is_unused(token)
    assert client.ask("POST", f"/teach/{token}", origin="http://far.test").status == 403
    answer = client.ask("POST", f"/teach/{token}", origin="http://class.test")
    assert not CLASSES.is_unused(token)
    assert (answer.status, answer.headers["location"]) == (303, f"/Learn?class={code}")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"class_teacher_{code}={secret};")
    assert "HttpOnly" in cookie
    assert "Path=/_stcore;" in cookie  # where a page's websocket is, and nothing else
    assert token not in answer.headers["location"]
    for again, method in ((token, "POST"), (token, "GET"), ("forged", "POST"), ("forged", "GET")):
        gone = client.ask(method, f"/teach/{again}")
        assert gone.status == 410
        assert "set-cookie" not in gone.headers


def test_under_a_path_all_addresses_stand_below_it(room):
    code, secret = room
    before = config.get_option("server.baseUrlPath")
    config.set_option("server.baseUrlPath", "gating/app")
    try:
        client = Client()
        assert client.get(f"/c/{code}").status == 404
        assert client.get(f"/gating/app/c/{code}").status == 200
        cookie = client.ask("POST", f"/gating/app/c/{code}/join").headers["set-cookie"]
        assert f"Path=/gating/app/c/{code}" in cookie
        answer = client.ask("POST", f"/gating/app/teach/{CLASSES.token(code, secret)}")
        assert answer.headers["location"] == f"/gating/app/Learn?class={code}"
    finally:
        config.set_option("server.baseUrlPath", before)
