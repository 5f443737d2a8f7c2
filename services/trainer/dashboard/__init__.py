"""The dashboard's door: one page and its files, a login page when there is an API key.

Everything is served from here: no other host is ever asked. What a model wrote is shown as text and
the page runs no script but its own, which the Content-Security-Policy makes the browser enforce.
"""

import hmac
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from cohort.config import ServiceSettings
from cohort.web import ApiError

COOKIE = "cohort_key"
_FOLDER = Path(__file__).parent
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = ("style.css", "dashboard.js", "page.js", "charts.js", "icon.svg")
OPEN_PATHS = ("/", "/login", *(f"/dashboard/{name}" for name in _FILES))
"""Paths that need no key: they hold nothing but the empty page."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_MAX_FORM_BYTES = 4096


def dashboard(settings: ServiceSettings) -> APIRouter:
    """Routes of the dashboard."""
    router = APIRouter(include_in_schema=False)

    def knows_key(key: str) -> bool:
        wanted = settings.api_key
        return not wanted or hmac.compare_digest(key.encode(), wanted.encode())

    @router.get("/")
    def index(request: Request) -> Response:
        """The page, or the login page."""
        known = knows_key(request.cookies.get(COOKIE, ""))
        return _file("index.html" if known else "login.html")

    @router.post("/login")
    async def login(request: Request) -> Response:
        """Trade the key for a cookie that no script can read and no other site can send."""
        body = await request.body()
        if len(body) > _MAX_FORM_BYTES:
            raise ApiError(413, "body_too_large", "An API key is shorter than that.")
        key = parse_qs(body.decode(errors="replace")).get("key", [""])[0]
        if not knows_key(key):
            return _file("login.html", status=401)
        response = RedirectResponse("/", status_code=303)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, key, httponly=True, samesite="strict", secure=secure)
        return response

    @router.post("/logout")
    def logout() -> Response:
        """Forget the key."""
        response = RedirectResponse("/", status_code=303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    @router.get("/dashboard/{name}")
    def asset(name: str) -> Response:
        """Scripts, styles, the icon."""
        if name not in _FILES:
            raise ApiError(404, "not_found", "The dashboard has no such file.")
        return _file(name)

    return router


def _file(name: str, status: int = 200) -> Response:
    path = _FOLDER / name
    kind, content = _TYPES[path.suffix], path.read_bytes()
    if status == 401:
        content = content.replace(b" hidden>", b">")
    return Response(content, status_code=status, media_type=kind, headers=_HEADERS)
