"""The routes of phones: a page of a few kilobytes, and the state of their class.

    app = st.App(__file__, routes=routes())

Streamlit puts these before its own routes and checks their paths. It does not put them under
``server.baseUrlPath``, which is done here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit import config

from ui.classroom.classes import CLASSES, Refused, read_code
from ui.limits import CLASS_SECONDS

FILES = Path(__file__).with_name("student")
OFFER = Path(__file__).with_name("offer.html")
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".png": "image/png",
}
STUDENT, TEACHER = "class_student", "class_teacher"  # cookies; the teacher's ends with the code
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
}
MINUTES = HEADERS | {"Cache-Control": "max-age=300"}
Answer = Callable[[Request], Awaitable[Response]]


def base_path() -> str:
    """Return the path under which the app is served: "" or "/gating"."""
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def routes() -> list[Route]:
    """Return the routes of students and of links that give a teacher's rights."""
    base = base_path()
    return [
        Route(f"{base}/c/file/{{name}}", _answered(_file)),
        Route(f"{base}/c/{{code}}", _answered(_page)),
        Route(f"{base}/c/{{code}}/join", _answered(_join), methods=["POST"]),
        Route(f"{base}/c/{{code}}/vote", _answered(_vote), methods=["POST"]),
        Route(f"{base}/c/{{code}}/state", _answered(_state)),
        Route(f"{base}/c/{{code}}/picture/{{name}}", _answered(_picture)),
        Route(f"{base}/teach/{{token}}", _answered(_offer)),
        Route(f"{base}/teach/{{token}}", _answered(_teach), methods=["POST"]),
    ]


def _answered(answer: Answer) -> Answer:
    """Let ``answer`` refuse: the sentence goes to the visitor, as JSON."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except Refused as refused:
            return JSONResponse({"error": str(refused)}, refused.status, headers=HEADERS)

    return answered


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()  # of a file that is shipped: there are a few dozen


def _shipped(path: Path) -> Response:
    return Response(_bytes(path), media_type=KINDS[path.suffix], headers=MINUTES)


async def _page(request: Request) -> Response:
    """Return the same page for every code: a preview of the link joins nothing."""
    if (code := read_code(given := request.path_params["code"])) != given:
        return RedirectResponse(f"{base_path()}/c/{quote(code, safe='')}", headers=HEADERS)
    return Response(_bytes(FILES / "student.html"), media_type="text/html", headers=HEADERS)


async def _file(request: Request) -> Response:
    names = {path.name: path for path in FILES.iterdir()}
    if (name := request.path_params["name"]) not in names:
        raise Refused(404, "There is no such file.")
    return _shipped(names[name])


async def _picture(request: Request) -> Response:
    return _shipped(CLASSES.picture(name=request.path_params["name"], **_asker(request)))


async def _join(request: Request) -> Response:
    _refuse_other_sites(request)
    asker = _asker(request)
    asker["who"] = CLASSES.join(**asker)
    answer = _json(CLASSES.view(**asker))
    path = f"{base_path()}/c/{read_code(asker['code'])}"
    _set_cookie(request, answer, STUDENT, asker["who"], path)
    return answer


async def _vote(request: Request) -> Response:
    _refuse_other_sites(request)
    asker = _asker(request)
    CLASSES.check(**asker)
    try:
        vote = await request.json()
        question, choice = vote["question"], vote["choice"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(400, "That is no vote.") from None
    CLASSES.vote(question=question, choice=choice, **asker)
    return _json(CLASSES.view(**asker))


async def _state(request: Request) -> Response:
    """Answer a poll: 204 while nothing has changed."""
    text = CLASSES.view(since=request.query_params.get("since", ""), **_asker(request))
    return _json(text) if text else Response(status_code=204, headers=HEADERS)


async def _offer(request: Request) -> Response:
    """Show the button that gives the rights: a preview of the link uses up nothing."""
    if not CLASSES.is_unused(request.path_params["token"]):
        raise Refused(410, "This link has been used, or is too old.")
    # With "no-referrer" a browser would not say that the button is on our own page.
    headers = HEADERS | {"Referrer-Policy": "same-origin"}
    return Response(_bytes(OFFER), media_type="text/html", headers=headers)


async def _teach(request: Request) -> Response:
    """Give this browser the teacher's cookie, and lead it to the class without the token."""
    _refuse_other_sites(request)
    code, secret = CLASSES.redeem(request.path_params["token"])
    address = f"{base_path()}/Learn?class={code}"
    answer = RedirectResponse(address, 303, headers=HEADERS)
    # Streamlit gives a page the cookies of its websocket, which lies there.
    _set_cookie(request, answer, f"{TEACHER}_{code}", secret, f"{base_path()}/_stcore")
    return answer


def _asker(request: Request) -> dict[str, str]:
    """Return which class is asked, by whom, and from where."""
    return {
        "code": request.path_params["code"],
        "who": request.cookies.get(STUDENT, ""),
        "address": request.client.host if request.client else "",
    }


def _json(text: str) -> Response:
    return Response(text, media_type="application/json", headers=HEADERS)


def _set_cookie(request: Request, answer: Response, name: str, value: str, path: str) -> None:
    # The scheme is the proxy's where one on this machine names it (X-Forwarded-Proto).
    answer.set_cookie(
        name,
        value,
        max_age=int(CLASS_SECONDS),
        path=path,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def _refuse_other_sites(request: Request) -> None:
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refused(403, "Another site may not take part for you.")
