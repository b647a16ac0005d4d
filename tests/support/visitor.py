"""A person at the portal over plain HTTP: follows links, fills forms as a browser without JavaScript would.

Every page that it fetches is linted: valid HTML, a title, one h1, unique ids that exist where they are named, addresses
that lead somewhere, icons that exist, labelled fields, htmx elements with their nonce, no script or style inline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache, cached_property
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import html5lib
import requests
from lxml.etree import XPath
from lxml.html import tostring
from requests.adapters import HTTPAdapter
from requests.cookies import get_cookie_header

from portal.web.static import SHEETS
from tests.support.elements import Element, parsed

_KNOWN_PARSE_ERRORS = {"unknown-doctype"}
_PYTHON_VALUE = re.compile(
    r"\(\w+=|=(?:None|True|False)\b|datetime\.date(?:time)?\(|object at 0x|(?:&lt;|<)portal\."
)
"""How Python writes a record, a member of one, a date, or an object without a form of its own."""

_STATIC = Path(__file__).parents[2] / "static"
_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')
_QUOTED = re.compile(r"""=(?:"[^"]*"|'[^']*')""")
_BY_SCRIPTS = re.compile(
    r"/notifications/bell|/conversations/(?:[^/]+/)?new|/(?:protocols/[^/]+/change|episodes/[^/]+/doses)"
)
"""What only a page's script asks for, and a browser says so."""
_BETWEEN = re.compile(r">[^<>]+<")
_ODD_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|nbsp|#39|#34);)")


def fetch_metadata(url: str) -> dict[str, str]:
    """What a browser says of itself when a page's script asks for this address (Fetch Metadata); {} for other addresses."""
    if not _BY_SCRIPTS.fullmatch(urlsplit(url).path):
        return {}
    return {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-origin"}


class LocalAdapter(HTTPAdapter):
    """Finds `*.localhost` on this machine, as browsers do."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        parts = urlsplit(request.url or "")
        if (parts.hostname or "").endswith("localhost"):
            request.headers["Host"] = parts.netloc
            asked = request.url
            request.url = parts._replace(netloc=f"127.0.0.1:{parts.port or 80}").geturl()
            response = super().send(request, *args, **kwargs)
            request.url = response.url = asked or ""
            return response
        return super().send(request, *args, **kwargs)


class LocalSession(requests.Session):
    """Sends `Secure` cookies to `*.localhost` over http too, as browsers do."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.headers["Accept-Encoding"] = "identity"  # what is compressed has tests of its own
        self.cookies.set_policy(DefaultCookiePolicy(secure_protocols=("http", "https")))
        self.mount("http://", LocalAdapter())

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        # requests merges cookies into a new jar, which doesn't have this one's policy.
        prepared = super().prepare_request(request)
        if "Cookie" in (request.headers or {}):
            prepared.headers["Cookie"] = request.headers["Cookie"]
            return prepared
        prepared.headers.pop("Cookie", None)
        if cookies := get_cookie_header(self.cookies, prepared):
            prepared.headers["Cookie"] = cookies
        return prepared


class Visitor:
    """One browser."""

    def __init__(self, origin: str, password: str = "") -> None:
        self.origin = origin
        self.password = password
        self.http = LocalSession()
        self._token: tuple[dict[str, str], str] = {}, ""

    @property
    def session_id(self) -> str:
        """What the cookie of the session holds."""
        return next(str(cookie.value) for cookie in self.http.cookies if cookie.name == "__Host-sid")

    def sign_in(self, name: str, path: str = "/") -> Page:
        """Open a page, sign in at the identity server, come back to it."""
        page = self.get(path, status=None)
        page = self.fill_sign_in(page, name)
        assert page.url.startswith(self.origin), f"not back at the portal: {page.url} {page.words[:600]}"
        return page

    def fill_sign_in(self, page: Page, name: str) -> Page:
        form = page.tree.select_one("form:has(input[name=password])")
        assert form is not None, f"no sign-in form at {page.url}: {page.text[:500]}"
        return page.form(form).submit(username=name, password=self.password, status=None)

    def sign_out(self) -> Page:
        page = self.get("/")
        return page.form("/sign-out").submit(status=None)

    def get(self, path: str, status: int | None = 200, headers: dict[str, str] | None = None) -> Page:
        return self.request("GET", path, status=status, headers=headers)

    def post(
        self, path: str, data: Any = None, status: int | None = 200, headers: dict[str, str] | None = None
    ) -> Page:
        """Post fields as they are, with the session's CSRF token unless `data` brings one."""
        fields = dict(data or {})
        if "csrf_token" not in fields:
            fields["csrf_token"] = self._known_token()
        return self.request("POST", path, data=fields, status=status, headers=headers)

    def csrf_token(self) -> str:
        found = _TOKEN.search(self.get("/", status=None).text)
        assert found
        return found[1]

    def _known_token(self) -> str:
        """The token of the last page that had one, with these cookies: to ask for another page takes as long as the act."""
        held, token = self._token
        return token if held and held == self.http.cookies.get_dict() else self.csrf_token()

    def fragment(
        self, path: str, target: str, *, data: Any = None, status: int | None = 200, at: str = "/"
    ) -> Page:
        """Ask as htmx does for the element with this id; POST when there is `data`."""
        headers = {
            "HX-Request": "true",
            "HX-Target": f"div#{target}",
            "HX-Request-Type": "partial",
            "HX-Current-URL": urljoin(self.origin, at),
        }
        if data is None:
            return self.request("GET", path, status=status, headers=headers, follow=False)
        fields = dict(data)
        if "csrf_token" not in fields:
            fields["csrf_token"] = self._known_token()
        return self.request("POST", path, data=fields, status=status, headers=headers, follow=False)

    def request(
        self,
        method: str,
        path: str,
        *,
        data: Any = None,
        status: int | None = 200,
        headers: dict[str, str] | None = None,
        follow: bool = True,
    ) -> Page:
        url = urljoin(self.origin, path)
        sent = dict(headers or {})
        if method == "POST":
            sent.setdefault("Origin", self.origin if url.startswith(self.origin) else _origin(url))
            sent.setdefault("Referer", url)
        elif "HX-Request" not in sent:
            sent = fetch_metadata(url) | sent
        for _ in range(12):
            response = self.http.request(
                method, url, data=data, headers=sent, allow_redirects=False, timeout=90
            )
            location = response.headers.get("Location")
            if not (follow and response.is_redirect and location):
                break
            url, method, data = urljoin(url, location), "GET", None
        else:
            raise AssertionError(f"too many redirects, last {url}")
        page = Page(self, response, url)
        if url.startswith(self.origin) and (found := _TOKEN.search(page.text)):
            self._token = self.http.cookies.get_dict(), found[1]
        if status is not None:
            assert response.status_code == status, (
                f"{method} {url}: {response.status_code}, not {status}\n{page.words[:600]}"
            )
        if url.startswith(self.origin) and page.is_html:
            lint(page)
        return page


SignIn = Callable[..., Visitor]
"""Signs somebody in, with their roles: `visitor("nora", "nurse")`."""


class Page:
    """An answer, read."""

    def __init__(self, visitor: Visitor, response: requests.Response, url: str) -> None:
        self.visitor = visitor
        self.response = response
        self.url = url
        self.status = response.status_code
        self.headers = response.headers
        self.is_html = response.headers.get("Content-Type", "").startswith("text/html")
        self.text = (
            response.text if self.is_html or "text" in response.headers.get("Content-Type", "") else ""
        )

    @cached_property
    def tree(self) -> Any:
        """Its root element; None if it is empty."""
        return parsed(self.text)

    @property
    def main(self) -> Any:
        """The main part of `tree`; all of it if it has none."""
        main = None if self.tree is None else self.tree.find(".//main")
        return self.tree if main is None else main

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def words(self) -> str:
        """The text that a person reads in the main part."""
        return "" if self.main is None else self.main.words

    @property
    def heading(self) -> str:
        h1 = None if self.tree is None else self.tree.find(".//h1")
        return "" if h1 is None else h1.words

    @property
    def bell(self) -> int:
        """How many notifications its bell counts."""
        badge = self.tree.select_one("#bell .badge")
        return int(badge.text_content().split()[0]) if badge else 0

    @property
    def windows(self) -> list[str]:
        """The times of visits that it offers."""
        return [str(radio["value"]) for radio in self.select("input[name=window]")]

    @property
    def facts(self) -> list[tuple[str, ...]]:
        """What the main part states, in order: label and value of definition lists, head and cells of table rows."""
        found: list[tuple[str, ...]] = []
        for element in self.main.select("dt, tr:has(td)"):
            if element.tag == "dt":
                value = next(element.itersiblings("dd"), None)
                found.append((element.words, value.words if value else ""))
            else:
                found.append(tuple(cell.words for cell in element.select("th, td")))
        return found

    def select(self, selector: str) -> list[Any]:
        return [] if self.tree is None else self.tree.select(selector)

    def link(self, words: str) -> str:
        """The address of the link with these words."""
        links = [] if self.tree is None else self.tree.iter("a")
        found = (a.get("href") for a in links if a.get("href") and words in a.words)
        href = next(found, None)
        assert href, f"no link {words!r} at {self.url}"
        return str(href)

    def follow(self, words: str, status: int | None = 200) -> Page:
        return self.visitor.get(urljoin(self.url, self.link(words)), status=status)

    def form(self, which: str | Element) -> Form:
        """The form whose action begins with `which`, or the form itself."""
        if isinstance(which, Element):
            return Form(self, which)
        for element in self.tree.select("form"):
            action = str(element.get("action") or self.path)
            if urlsplit(urljoin(self.url, action)).path.startswith(which):
                return Form(self, element)
        raise AssertionError(
            f"no form for {which} at {self.url}: {[f.get('action') for f in self.tree.select('form')]}"
        )


class Form:
    """A form with its fields as the page gave them."""

    def __init__(self, page: Page, element: Element) -> None:
        self.page = page
        self.element = element
        self.action = urljoin(page.url, str(element.get("action") or page.url))
        self.method = str(element.get("method") or "get").upper()

    def fields(self) -> list[tuple[str, str]]:
        given: list[tuple[str, str]] = []
        for field in self.element.select("input[name], textarea[name], select[name]"):
            name, kind = str(field["name"]), str(field.get("type") or "")
            if "disabled" in field.attrib or kind in ("submit", "button", "image"):
                continue
            if field.tag == "textarea":
                given.append((name, field.text_content().lstrip("\n")))
            elif field.tag == "select":
                options = field.select("option[selected]") or field.select("option")[:1]
                given += [(name, str(option.get("value", option.text_content()))) for option in options]
            elif kind not in ("checkbox", "radio") or "checked" in field.attrib:
                given.append((name, str(field.get("value") or ("on" if kind == "checkbox" else ""))))
        return given

    def checkboxes(self) -> list[tuple[str, str]]:
        return [
            (str(box["name"]), str(box.get("value") or "on"))
            for box in self.element.select("input[type=checkbox]")
        ]

    def submit(
        self,
        *,
        status: int | None = 200,
        check_all: bool = False,
        button: tuple[str, str] | None = None,
        **values: Any,
    ) -> Page:
        """Send the form with these values over what it held; a list gives a name several times, None leaves it out."""
        fields = [(name, value) for name, value in self.fields() if name not in values]
        if check_all:
            fields += [pair for pair in self.checkboxes() if pair not in fields and pair[0] not in values]
        for name, value in values.items():
            if value is not None:
                fields += [(name, one) for one in (value if isinstance(value, list | tuple) else [value])]
        if button is None:
            first = self.element.select_one("button[name]:not([type=button])")
            unnamed = self.element.select_one("button:not([name]):not([type=button])")
            button = (str(first["name"]), str(first.get("value") or "")) if first and not unnamed else None
        if button and button[0] not in values:
            fields.append(button)
        visitor = self.page.visitor
        headers = {"Referer": self.page.url}
        if self.method == "GET":
            query = requests.models.PreparedRequest()
            query.prepare_url(self.action.partition("?")[0], fields)
            return visitor.request("GET", query.url or "", status=status, headers=headers)
        return visitor.request("POST", self.action, data=fields, status=status, headers=headers)


def lint(page: Page) -> None:
    """Fail with words when a page isn't as every page must be."""
    where = f"{page.url} ({page.status})"
    whole = "<html" in page.text[:300].lower()
    if _ODD_ENTITY.search(page.text):
        errors = _parse_errors(page.text, whole)
    else:
        errors = _new_parse_errors(_BETWEEN.sub("><", _QUOTED.sub('="x"', page.text)), whole)
    assert not errors, f"{where}: not valid HTML: {errors[:5]}"
    value = _PYTHON_VALUE.search(page.text)
    assert not value, f"{where}: Python value on the page: {value and page.text[value.start() :][:120]}"
    root = page.tree
    if root is None:
        return
    for element in _HTMX(root):
        assert "hx-nonce" in element.attrib, f"{where}: htmx element without nonce: {_source(element)}"
    bad = _ACTIVE(root)
    assert not bad, f"{where}: {bad[0].attrname} on {_source(bad[0].getparent())}"
    ids = Counter(_IDS(root))
    twice = {id_ for id_, times in ids.items() if times > 1}
    assert not twice, f"{where}: duplicate ids: {twice}"
    lost = [address for address in _ADDRESSES(root) if not _ADDRESS.match(address)]
    assert not lost, f"{where}: lead nowhere: {lost}"
    times = [time for time in _TIMES(root) if not _MOMENT.fullmatch(time)]
    assert not times, f"{where}: no times: {times}"
    icons = {address.partition("#")[2] for address in _ICONS(root)} - icon_names()
    assert not icons, f"{where}: no such icons: {icons}"
    empty = [one for one in _FILLED(root) if not (one.text_content().strip() or _THINGS(one))]
    assert not empty, f"{where}: nothing in it: {[_source(one)[:90] for one in empty]}"
    odd = _WITHOUT(root)
    assert not odd, f"{where}: a part is missing: {_source(odd[0])}"
    errors = {error.get("id") for error in _ERRORS(root)}
    untold = [one for one in _INVALID(root) if errors.isdisjoint(one.get("aria-describedby", "").split())]
    assert not untold, f"{where}: isn't described by its error: {_source(untold[0])}"
    if whole:
        unknown = {id_ for told in _REFERENCES(root) for id_ in told.split()} - ids.keys()
        assert not unknown, f"{where}: nothing has these ids: {unknown}"
        keys = _KEYS(root)
        assert all(len(key) == 1 for key in keys) and len({*keys}) == len(keys), f"{where}: {keys}"
        headings = [*root.iter("h1")]
        assert len(headings) == 1, f"{where}: {len(headings)} h1"
        assert root.findtext(".//title", "").strip(), f"{where}: no title"
        assert root.get("lang"), f"{where}: no lang"
        loaded = {address.rpartition("/")[2] for address in _SHEETS(root)}
        classes = {name for told in _CLASSES(root) for name in told.split()} & styled_apart().keys()
        plain = {name for name in classes if not styled_apart()[name] & loaded}
        assert not plain, f"{where}: these classes have rules in sheets that aren't loaded: {plain}"
    labels = {label.get("for") for label in root.iter("label")}
    for field in root.iter("input", "textarea", "select"):
        is_named = (
            field.get("aria-label") or field.get("aria-labelledby") or field.get("id") in labels - {None}
        )
        assert is_named or field.get("type") in ("hidden", "submit") or [*field.iterancestors("label")], (
            f"{where}: field without label: {_source(field)}"
        )
    for pressed in root.iter("button", "a"):
        names = [one.get(name) for one in pressed.iter() for name in ("aria-label", "aria-labelledby", "alt")]
        assert any(names) or pressed.text_content().strip(), f"{where}: without words: {_source(pressed)}"
    for script in root.iter("script"):
        assert script.get("src") and not (script.text or "").strip(), f"{where}: inline script"
    assert not [*root.iter("style")], f"{where}: inline style"
    for form in root.iter("form"):
        has_token = any(field.get("name") == "csrf_token" for field in form.iter("input"))
        assert form.get("method") != "post" or has_token, (
            f"{where}: form without CSRF token: {form.get('action')}"
        )
    for expected in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"):
        assert expected in page.headers, f"{where}: no {expected}"


_HTMX = XPath("//*[@*[starts-with(name(), 'hx-')]][not(self::hx-partial)]")
_ACTIVE = XPath("//@*[name() = 'style' or starts-with(name(), 'on')]")
_IDS = XPath("//@id")
_ADDRESSES = XPath("//@href | //@src | //@action | //@formaction | //@hx-get | //@hx-post")
_ADDRESS = re.compile(r"/(?!/)|#.*|[?].|https?://.|mailto:.|tel:.|sms:.")
_TIMES = XPath("//time/@datetime")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d))?|P.+")
_CLASSES = XPath("//@class")
_SHEETS = XPath("//link[@rel = 'stylesheet']/@href")
_ICONS = XPath("//use/@href")
_REFERENCES = XPath("//@for | //@aria-describedby | //@aria-labelledby | //@aria-controls")
_ERRORS = XPath("//*[contains(concat(' ', @class, ' '), ' field-error ')]")
_INVALID = XPath("//*[@aria-invalid = 'true']")
_KEYS = XPath("//nav//@data-key")
_FILLED = XPath(
    " | ".join(
        f"//{name}"
        for name in (
            "h1",
            "h2",
            "h3",
            "h4",
            "p[not(@role = 'status' or @aria-live or @class = 'as-written')]",
            "li",
            "dt",
            "dd",
            "th",
            "td[@data-label]",
            "label",
            "legend",
            "caption",
            "summary",
            "select//option[@value != '']",
            "time",
            "strong[not(@data-countdown)]",
            "figcaption",
        )
    )
)
_THINGS = XPath(".//input | .//select | .//textarea | .//svg | .//img | .//*[@aria-hidden]")
_WITHOUT = XPath(
    " | ".join(
        (
            "//fieldset[not(legend)]",
            "//details[not(summary)]",
            "//figure[not(.//svg | .//img | .//table | .//iframe | .//object)]",
            "//table[not(caption)]",
            "//th[not(@scope)]",
            "//img[not(@alt)] | //figure/img[@alt = '']",
            "//*[contains(concat(' ', @class, ' '), ' field-error ')][not(.//svg)]",
            "//*[contains(concat(' ', @class, ' '), ' icon-text ')][not(.//svg)]",
            "//*[@data-tone = '' or @data-kind = '' or @data-state = '']",
        )
    )
)


@cache
def styled_apart() -> dict[str, set[str]]:
    """The sheets that have rules for a class which `styles.css`, that every page loads, has none for."""
    rules = {
        name: set(re.findall(r"\.([a-zA-Z][\w-]*)", (_STATIC / name).read_text(encoding="utf-8")))
        for name in SHEETS
    }
    everywhere = rules.pop("styles.css")
    found: dict[str, set[str]] = {}
    for sheet, classes in rules.items():
        for name in classes - everywhere:
            found.setdefault(name, set()).add(sheet)
    return found


@cache
def icon_names() -> frozenset[str]:
    """The names of the icons that there are."""
    sprite = (_STATIC / "icons.svg").read_text(encoding="utf-8")
    return frozenset(re.findall(r'<symbol id="([^"]+)"', sprite))


def _source(element: Any) -> str:
    return str(tostring(element, encoding="unicode"))[:200]


_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^>]*>")
_VOID = frozenset(("br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"))
_PARTS = ("html", "head", "body")
"""Elements that say of what comes beside them whether it may: they are never left out."""
_valid: set[int] = set()
"""Hashes of elements without words and values, in which html5lib found no error, each with the names of those around it."""


def _new_parse_errors(bones: str, is_whole: bool) -> list[tuple[str, object]]:
    """What html5lib has against elements and attributes, in what it hasn't been asked about yet: it takes long.

    An element is left out if the same one was valid before inside of the same others.
    """
    left: list[str] = []
    around: list[tuple[str, int, int]] = [("", 0, 0)]
    new: set[int] = set()
    end = 0
    for tag in _TAG.finditer(bones):
        left.append(bones[end : tag.start()])
        closes, name = tag.groups()
        path, start, place = around[-1]
        end = tag.end()
        if not closes and name not in _VOID and tag[0][-2] != "/":
            around.append((f"{path} {name}", tag.start(), len(left)))
        left.append(tag[0])
        if closes:
            if len(around) == 1 or path.rpartition(" ")[2] != name:
                return _parse_errors(bones, is_whole)
            around.pop()
            if (known := hash((path, bones[start:end]))) in _valid and name not in _PARTS:
                del left[place:]
            else:
                new.add(known)
    errors = _parse_errors("".join((*left, bones[end:])) if len(around) == 1 else bones, is_whole)
    if not errors:
        _valid.update(new)
    return errors


@cache
def _parse_errors(bones: str, is_whole: bool) -> list[tuple[str, object]]:
    parser = html5lib.HTMLParser()
    (parser.parse if is_whole else parser.parseFragment)(
        bones.replace("<hx-partial", "<div").replace("</hx-partial", "</div")
    )
    return [(code, data) for _place, code, data in parser.errors if code not in _KNOWN_PARSE_ERRORS]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
