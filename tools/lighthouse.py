"""Measures the main pages of the running product with Lighthouse, as a phone on a slow line sees them, signed in.

`python -m tools.lighthouse [--least 100] [--times 3] [--all]`: prints performance, accessibility and best practices of each
page, its largest contentful paint (LCP), its layout shift (CLS) and what costs points, then the LCP of three pages in four,
and fails below `--least`. Of several measurements of a page it takes the one with the median LCP. `--all` measures one page of
each kind that a patient and a nurse come to by links. It needs Node and Chromium; Lighthouse comes by npm, of one version.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from portal.careservice.ids import sample_id
from portal.demo.programs import install_missing, request_to_install
from tests.browser.album import kind_of
from tests.support import chromium
from tests.support.stack import PASSWORD, CareService, PortalProcess, plan
from tests.support.visitor import Visitor
from tools.machine import NODE, NPM

_LIGHTHOUSE = "lighthouse@12.2.3"
_ABOUT = ("performance", "accessibility", "best-practices")
_PAGES = (
    "/",
    f"/episodes/{sample_id('episode', 'amelia-1')}",
    f"/consents/{sample_id('consent', 'amelia-genetic')}/sign",
    "/conversations",
    "/notifications",
)
_FILE = re.compile(r"\.ics$|\.pdf$|^/files/[^/]+$|download")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the main pages with Lighthouse.")
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="every kind of page, not only the main ones")
    chosen = parser.parse_args()
    if missing := install_missing(NODE, NPM):
        print(request_to_install(missing), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        command = _lighthouse(work / "npm")
        the = plan(work)
        service = CareService(the)
        portal = PortalProcess(the)
        try:
            people = {name: Visitor(portal.origin(), PASSWORD) for name in ("amelia", "nora")}
            for name, visitor in people.items():
                visitor.sign_in(name)
            pages = [
                (name, path)
                for name, visitor in people.items()
                for path in (_linked(visitor) if chosen.all else _PAGES if name == "amelia" else ())
            ]
            points, paints = list[int](), list[float]()
            for name, path in pages:
                address = portal.origin() + path
                report = _median(
                    [_measure(command, work, address, people[name]) for _ in range(chosen.times)]
                )
                points.append(_say(f"{name} {path}", report))
                paints.append(_painted(report))
        finally:
            portal.stop()
            service.stop()
    paints.sort()
    print(f"LCP of three pages in four: {paints[3 * len(paints) // 4]:.0f} ms at most, {len(paints)} pages")
    return 1 if min(points) < chosen.least else 0


def _linked(visitor: Visitor) -> list[str]:
    """The first page of each kind that links lead to from the person's home."""
    found, waiting = dict[str, str](), ["/"]
    while waiting:
        path = waiting.pop(0)
        if (kind := kind_of(urlsplit(path).path)) in found or _FILE.search(path):
            continue
        page = visitor.request("GET", path, status=None)
        if page.status == 200 and page.tree.select("nav"):
            found[kind] = path
            waiting += [str(link["href"]) for link in page.select("a[href^='/']")]
    return list(found.values())


def _lighthouse(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(
        [
            "npm",
            "install",
            "--silent",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
            _LIGHTHOUSE,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / "node_modules" / ".bin" / "lighthouse"


def _measure(command: Path, work: Path, url: str, visitor: Visitor) -> dict[str, Any]:
    """Run Lighthouse with the visitor's cookies; its report."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.http.cookies)
    headers, report = work / "headers.json", work / "report.json"
    headers.write_text(json.dumps({"Cookie": cookies}))
    _run(
        [
            *(str(command), url, "--quiet", "--output=json", f"--output-path={report}"),
            f"--only-categories={','.join(_ABOUT)}",
            f"--extra-headers={headers}",
            f"--chrome-flags=--headless=new --no-sandbox --host-resolver-rules='{chromium.RESOLVER_RULES}'",
        ]
    )
    found: dict[str, Any] = json.loads(report.read_text())
    asked, shown = (
        urlsplit(one)._replace(query="", fragment="") for one in (url, found["finalDisplayedUrl"])
    )
    assert shown == asked, f"redirected to {found['finalDisplayedUrl']}"
    return found


def _run(command: list[str]) -> None:
    """Run it, a second time if it fails: Lighthouse sometimes misses the start of the page in its own trace."""
    environment = {**os.environ, **({"CHROME_PATH": path} if (path := chromium.path()) else {})}
    if subprocess.run(command, env=environment, capture_output=True).returncode:
        subprocess.run(command, env=environment, check=True)


def _median(reports: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(reports, key=_painted)[len(reports) // 2]


def _painted(report: dict[str, Any]) -> float:
    """When the page's largest part is painted, in ms."""
    return report["audits"]["largest-contentful-paint"]["numericValue"]


def _say(name: str, report: dict[str, Any]) -> int:
    """Print one page's points, and what costs some; return the fewest."""
    points = {about: round(report["categories"][about]["score"] * 100) for about in _ABOUT}
    print(
        name,
        *(f"{about} {number}" for about, number in points.items()),
        f"LCP {_painted(report):.0f} ms",
        f"CLS {report['audits']['cumulative-layout-shift']['numericValue']:.3f}",
        sep="\t",
        flush=True,
    )
    for about in _ABOUT:
        for reference in report["categories"][about]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
                print(f"  {about}: {audit['title']} {audit.get('displayValue', '')}")
    return min(points.values())


if __name__ == "__main__":
    sys.exit(main())
