"""Takes screenshots of the running product: the README's picture, and contact sheets of all pages for designers.

`python -m tools.screenshots [--picture | --sheet FOLDER] [--person NAME …] [--language CODE …] [--theme NAME …]`;
with neither of the first two it takes both. A sheet is
one PNG for each person, theme and language: every page that links lead this person to, at the three widths, named by
its address. The same pages at full size lie in a folder beside each sheet.
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from portal.demo.stack import PEOPLE
from tests.browser.album import Album, Collector, kind_of
from tests.browser.pages import sign_in
from tests.support import chromium
from tests.support.stack import PASSWORD, CareService, PortalProcess, plan

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "static" / "brand" / "portal.png"
SHEETS = ROOT / "var" / "sheets"
"""Not kept in the repository."""
WIDTHS = (360, 768, 1280)
THEMES = ("light", "dark")
LANGUAGES = ("en", "es", "ar")
SHOWN = ("amelia", "daniel", "grace", "nora", "victor", "elif", "colin", "ada", "nobody")
"""Whose pages are shown; nobody is a visitor who hasn't signed in."""
_TALLEST = 2600
"""A longer page is cut there, in pixels."""
_THUMBNAIL = 300
"""How tall a page stands on the sheet, in pixels."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What goes on one sheet: whose pages, in which language and theme."""

    person: str
    language: str
    theme: str

    @property
    def name(self) -> str:
        return f"{self.person}-{self.language}-{self.theme}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Take pictures of the portal.")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--picture", action="store_true", help="the README's picture alone")
    only.add_argument("--sheet", type=Path, metavar="FOLDER", help="the sheets alone, into this folder")
    parser.add_argument("--person", nargs="+", default=SHOWN, choices=SHOWN)
    parser.add_argument("--language", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    parser.add_argument("--theme", nargs="+", default=THEMES, choices=THEMES)
    given = parser.parse_args()
    with running() as (browser, portal):
        if not given.sheet:
            _picture(browser, portal)
        if not given.picture:
            for person in given.person:
                urls = pages_of(portal, person)
                for language in given.language:
                    _photograph(browser, portal, person, language, given.theme, urls, given.sheet or SHEETS)
    return 0


@contextmanager
def running() -> Generator[tuple[Browser, PortalProcess]]:
    with tempfile.TemporaryDirectory() as folder:
        the = plan(Path(folder))
        service = CareService(the)
        portal = PortalProcess(the)
        try:
            with sync_playwright() as playwright:
                yield chromium.launch(playwright), portal
        finally:
            portal.stop()
            service.stop()


def _picture(browser: Browser, portal: PortalProcess) -> None:
    """The README's picture: home on a phone, the chart on a desk, a form to sign at night."""
    phone = _open(browser, portal, "amelia", 390, 780)
    home = phone.screenshot()
    phone.get_by_role("main").get_by_role("link", name="Read and sign").first.click()
    phone.wait_for_load_state()
    desk = _open(browser, portal, "amelia", 1000, 780)
    desk.goto(portal.origin() + "/episodes")
    desk.get_by_role("main").get_by_role("link", name=re.compile("IVF")).first.click()
    desk.wait_for_load_state()
    desk.goto(desk.url + "/monitoring")
    chart = desk.screenshot()
    night = _open(browser, portal, "amelia", 390, 780, scheme="dark")
    night.goto(phone.url)
    form = night.screenshot()
    frame = browser.new_page(viewport={"width": 1720, "height": 760})
    images = "".join(
        f'<img src="data:image/png;base64,{base64.b64encode(image).decode()}" height="700">'
        for image in (home, chart, form)
    )
    frame.set_content(
        "<style>body{margin:0;background:#e9e4db;display:flex;gap:28px;padding:30px;justify-content:center}"
        f"img{{border-radius:14px;box-shadow:0 8px 30px #0003}}</style>{images}"
    )
    frame.screenshot(path=PICTURE, type="png")
    _make_compact(PICTURE)


def _make_compact(picture: Path) -> None:
    """Screens have few colours: a palette keeps them at a third of the bytes."""
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(256, kmeans=8, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


def pages_of(portal: PortalProcess, person: str) -> list[str]:
    """Every page that links lead this person to, one of each kind, in the order in which they are found."""
    origin = portal.origin(clinic_of(person))
    if person == "nobody":
        return [f"{origin}{path}" for path in ("/", "/signed-out", "/nothing-here", "/book/out-of-date")]
    visitor = Collector(origin, PASSWORD, Album(), person, "en")
    visitor.arrive()
    pages = visitor.walk()
    shown = {kind_of(page.url): page.url for page in pages if page.url.startswith(origin + "/")}
    return [*shown.values(), f"{origin}/nothing-here"]


def _photograph(
    browser: Browser,
    portal: PortalProcess,
    person: str,
    language: str,
    themes: Sequence[str],
    urls: Sequence[str],
    folder: Path,
) -> None:
    """Open each page once, and take it at every width in every theme; then lay out a sheet for each theme."""
    context = browser.new_context(locale={"en": "en-GB"}.get(language, language), reduced_motion="reduce")
    page = context.new_page()
    if person != "nobody":
        sign_in(page, portal.origin(clinic_of(person)), person)
    speak(context, portal.origin(clinic_of(person)), language)
    sheets = [Sheet(person, language, theme) for theme in themes]
    for sheet in sheets:
        (folder / sheet.name).mkdir(parents=True, exist_ok=True)
    for place, url in enumerate(urls):
        page.goto(url)
        settle(page)
        for width in WIDTHS:
            page.set_viewport_size(ViewportSize(width=width, height=800))
            # With a window as tall as the page, elements fixed to the bottom edge are at the end of the page.
            tall = min(page.evaluate("document.documentElement.scrollHeight"), _TALLEST)
            page.set_viewport_size(ViewportSize(width=width, height=tall))
            for sheet in sheets:
                page.emulate_media(color_scheme="dark" if sheet.theme == "dark" else "light")
                page.screenshot(path=folder / sheet.name / f"{place:02}-{width}.png")
    for sheet in sheets:
        _lay_out(page, sheet, [_label(url) for url in urls], folder)
    context.close()


def _lay_out(page: Page, sheet: Sheet, labels: Sequence[str], folder: Path) -> None:
    """One PNG with all pages as thumbnails, the narrow one first, each group under its address."""
    groups = "".join(
        f"<figure><figcaption>{escape(label)}</figcaption><div>"
        + "".join(f'<img src="data:image/png;base64,{_small(file)}">' for file in files)
        + "</div></figure>"
        for place, label in enumerate(labels)
        for files in [[folder / sheet.name / f"{place:02}-{width}.png" for width in WIDTHS]]
    )
    frame = page.context.new_page()
    frame.set_viewport_size(ViewportSize(width=2960, height=800))
    frame.set_content(
        "<style>body{margin:0;padding:16px;background:#ddd;font:13px system-ui;display:flex;flex-wrap:wrap;gap:16px}"
        "h1{inline-size:100%;margin:0;font-size:20px}figure{margin:0}div{display:flex;gap:6px}"
        f"img{{display:block}}</style><h1>{escape(sheet.name)}</h1>{groups}"
    )
    frame.screenshot(path=folder / f"{sheet.name}.png", full_page=True)
    _make_compact(folder / f"{sheet.name}.png")
    frame.close()


def _small(file: Path) -> str:
    """The upper part of a picture as a thumbnail, in base64."""
    with Image.open(file) as image:
        top = image.crop((0, 0, image.width, min(image.height, 1100)))
        top.thumbnail((image.width, _THUMBNAIL))
        with tempfile.SpooledTemporaryFile() as made:
            top.save(made, "PNG")
            made.seek(0)
            return base64.b64encode(made.read()).decode()


def _label(url: str) -> str:
    return kind_of(url) or urlsplit(url).path


def settle(page: Page) -> None:
    """Wait until no region is on its way any more."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function("!document.querySelector('.htmx-request')")


def speak(context: BrowserContext, origin: str, language: str) -> None:
    host = urlsplit(origin).hostname or ""
    context.add_cookies(
        [
            {
                "name": "__Host-language",
                "value": language,
                "domain": host,
                "path": "/",
                "secure": True,
                "httpOnly": True,
                "sameSite": "Lax",
            }
        ]
    )


def _open(
    browser: Browser, portal: PortalProcess, name: str, width: int, height: int, scheme: str = "light"
) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB",
    )
    page = context.new_page()
    sign_in(page, portal.origin(clinic_of(name)), name)
    settle(page)
    return page


def clinic_of(name: str) -> str:
    return next((key for key, people in PEOPLE.items() if name in dict(people)), "riverside")


if __name__ == "__main__":
    sys.exit(main())
