"""Every page of the product, collected by following the links from home and by sending each form blank.

Pages are collected over HTTP and kept as they were answered, so that one collection serves every check: a browser
with a theme, a width or open menus, or a validator. New pages are included automatically because links lead to them;
`states.py` reaches those that only an act leads to.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import lxml.etree
import lxml.html

from tests.support.visitor import Form, Page, Visitor

LANGUAGES = ("en", "es", "ar")
_MARKS = ("open", "role", "hidden")
_ID = re.compile(r"^(?=.*\d)[\w.-]{20,}$")
_FILLABLE = "input:not([type=hidden]):not([type=submit]):not([type=search]), textarea, select"
_ASKS = ".//input[not(@type='hidden' or @type='submit' or @type='search')] | .//textarea | .//select"
"""The same for lxml."""
_TYPED = "input:not([type=hidden]):not([type=submit]):not([type=checkbox]):not([type=radio]), textarea"
# Signing out would end the walk, and a new language would change it.
_NOT_SENT = ("/sign-out", "/language", "/me/devices")
_NO_PAGES = (".pdf", ".ics")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page as it was answered: to whom, where, with which status."""

    person: str
    side: str
    language: str
    kind: str
    url: str
    status: int
    html: str
    is_first: bool = True
    """Whether none of its kind came before: the others differ by whose records are on them."""

    @property
    def name(self) -> str:
        return f"{self.person} {self.language} {self.status} {self.kind}"


@dataclass
class Album:
    """The leaves so far; a page that is like one already here (same kind, status, side) is left out unless `all_of_them`."""

    all_of_them: bool = False
    leaves: list[Leaf] = field(default_factory=list)
    _known: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, person: str, language: str, page: Page) -> None:
        if not page.is_html or "<html" not in page.text[:300].lower():
            return
        body = page.tree.body
        side = str(body.get("data-side") or "identity")
        kind = kind_of(page.url)
        key = (kind, str(page.status), side, _looks(page))
        own = (*key, person, language)
        is_first = key not in self._known
        if is_first or (self.all_of_them and own not in self._known):
            self._known |= {key, own}
            self.leaves.append(Leaf(person, side, language, kind, page.url, page.status, page.text, is_first))

    def move(self, origin: str, to: str) -> None:
        """Show the pages of one portal as another's."""
        self.leaves = [replace(leaf, url=leaf.url.replace(origin, to, 1)) for leaf in self.leaves]


class Collector(Visitor):
    """A visitor whose every page goes into the album."""

    def __init__(self, origin: str, password: str, album: Album, person: str, language: str) -> None:
        super().__init__(origin, password)
        self.album = album
        self.person = person
        self.language = language

    def request(self, method: str, path: str, **more: Any) -> Page:
        page = super().request(method, path, **more)
        if "HX-Request" not in (more.get("headers") or {}):
            self.album.add(self.person, self.language, page)
        return page

    def arrive(self) -> None:
        """Sign in, and choose the language."""
        self.sign_in(self.person)
        self.speak(self.language)

    def speak(self, language: str) -> None:
        self.language = language
        self.post("/language", {"language": language, "next": "/"})

    def walk(self, start: str = "/") -> list[Page]:
        """Follow the links from here, one page of each kind, and return those pages."""
        found: list[Page] = []
        waiting, seen = deque([urljoin(self.origin, start)]), set[str]()
        while waiting:
            url = waiting.popleft()
            if kind_of(url) in seen:
                continue
            seen.add(kind_of(url))
            page = self.get(url, status=None)
            if page.is_html:
                seen.add(kind_of(page.url))
                found.append(page)
                waiting.extend(self._links(page))
        return found

    def _links(self, page: Page) -> Iterator[str]:
        for link in page.tree.xpath("//a[not(@download)]/@href | //iframe/@src"):
            url = urljoin(page.url, str(link)).partition("#")[0]
            is_here = url.startswith(self.origin + "/") and not url.startswith(self.origin + "/static/")
            if is_here and not urlsplit(url).path.endswith(_NO_PAGES):
                yield url

    def send_blank(self, pages: Iterable[Page]) -> None:
        """Send every form on these pages that asks for something, with nothing in it."""
        sent: set[str] = set()
        for page in pages:
            for number, form in enumerate(page.tree.xpath("//main//form[@method='post']")):
                action = str(form.get("action") or page.url)
                if (
                    not form.xpath(_ASKS)
                    or action.startswith(_NOT_SENT)
                    or kind_of(urljoin(page.url, action)) in sent
                ):
                    continue
                sent.add(kind_of(urljoin(page.url, action)))
                blank(page.form(page.select('main form[method="post"]')[number]))


def blank(form: Form) -> Page:
    """Send a form as if nothing had been typed, ticked or chosen."""
    asked = {str(one["name"]) for one in form.element.select(_FILLABLE) if one.get("name")}
    typed = {str(one["name"]) for one in form.element.select(_TYPED) if one.get("name")}
    kept = [pair for pair in form.fields() if pair[0] not in asked]
    sent = kept + [(name, "") for name in sorted(typed)]
    return form.page.visitor.request(
        "POST", form.action, data=sent, status=None, headers={"Referer": form.page.url}
    )


def _looks(page: Page) -> str:
    """What tells two pages at one address apart: their notices, failed regions and first form."""
    main = page.tree.find(".//main")
    if main is None:
        return ""
    classes = {name for element in main.iter(lxml.etree.Element) for name in element.get("class", "").split()}
    pieces = [name for name in ("notice", "region-state", "error-summary", "stamp") if name in classes]
    form = main.find(".//form[@action]")
    return " ".join((*pieces, kind_of(form.get("action")) if form is not None else ""))


def constructs(page: str) -> set[tuple[str, ...]]:
    """What a page is built of: its elements, by name, classes and what a style looks for; and which are in which, by name."""
    body = lxml.html.document_fromstring(page).body
    elements = [*body.iterdescendants(lxml.etree.Element)]
    return {(_named(one),) for one in elements} | {(one.tag, one.getparent().tag) for one in elements}


def _named(element: Any) -> str:
    marks = (name for name in sorted(element.attrib) if name.startswith("data-") or name in _MARKS)
    return " ".join((element.tag, element.get("class", ""), *marks))


def kind_of(url: str) -> str:
    """Return the address with its ids taken out and its query reduced to the names: one kind of page each."""
    parts = urlsplit(url)
    path = "/".join("…" if _ID.match(one) else one for one in parts.path.split("/"))
    names = sorted({name for name, value in parse_qsl(parts.query) if value})
    return path + ("?" + "&".join(names) if names else "")
