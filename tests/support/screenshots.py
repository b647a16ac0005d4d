"""Takes the README's picture from the running product: three people's pages, side by side.

`python -m tests.support.screenshots [--sheet FOLDER]`; with `--sheet` also every page at three widths, light and dark.
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from portal.demo import PEOPLE
from tests.browser.pages import sign_in
from tests.support.machine import chromium
from tests.support.stack import CareService, PortalProcess, plan

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "static" / "brand" / "portal.png"
_PAGES = {
    "amelia": (
        "/",
        "/episodes",
        "/consents",
        "/conversations",
        "/notifications",
        "/notifications/settings",
        "/me",
    ),
    "grace": ("/", "/episodes", "/storage"),
    "nora": ("/", "/consents", "/conversations", "/notifications", "/protocols", "/care-team", "/open"),
    "maya": ("/",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Take pictures of the portal.")
    parser.add_argument("--sheet", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        the = plan(Path(folder))
        service = CareService(the)
        portal = PortalProcess(the)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium(),
                    args=["--no-sandbox", "--host-resolver-rules=MAP *.localhost 127.0.0.1"],
                )
                _picture(browser, portal)
                if given.sheet:
                    given.sheet.mkdir(parents=True, exist_ok=True)
                    _sheet(browser, portal, given.sheet)
        finally:
            portal.stop()
            service.stop()
    return 0


def _picture(browser: Browser, portal: PortalProcess) -> None:
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


def _sheet(browser: Browser, portal: PortalProcess, folder: Path) -> None:
    for name, paths in _PAGES.items():
        for scheme in ("light", "dark"):
            for width in (360, 768, 1280):
                page = _open(browser, portal, name, width, 800, scheme=scheme)
                for path in paths:
                    page.goto(_origin(portal, name) + path)
                    page.wait_for_timeout(400)
                    file = f"{name}{path.replace('/', '-')}-{width}-{scheme}.png"
                    page.screenshot(path=folder / file, full_page=True)
                page.context.close()


def _open(
    browser: Browser, portal: PortalProcess, name: str, width: int, height: int, scheme: str = "light"
) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB",
    )
    page = context.new_page()
    sign_in(page, _origin(portal, name), name)
    page.wait_for_timeout(500)
    return page


def _origin(portal: PortalProcess, name: str) -> str:
    return portal.origin(next(key for key, people in PEOPLE.items() if name in dict(people)))


if __name__ == "__main__":
    sys.exit(main())
