"""Measures the main pages of the running product with Lighthouse, as a phone on a slow line sees them, signed in.

`python -m tools.lighthouse [--least 100] [--times 3]`: prints performance, accessibility and best practices of each
page, its largest contentful paint (LCP) and what costs points, and fails below `--least`. Of several measurements of a page
it takes the one with the median LCP. It needs Node and Chromium; Lighthouse comes by npm, of one version.
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

from portal.careservice.ids import sample_id
from portal.demo.programs import install_missing, request_to_install
from tests.support import chromium
from tests.support.stack import PASSWORD, CareService, PortalProcess, plan
from tests.support.visitor import Visitor
from tools.machine import NODE, NPM

_LIGHTHOUSE = "lighthouse@12.2.3"
_ABOUT = ("performance", "accessibility", "best-practices")
_PAGES = {
    "home": "/",
    "episode": f"/episodes/{sample_id('episode', 'amelia-1')}",
    "consent": f"/consents/{sample_id('consent', 'amelia-genetic')}/sign",
    "conversations": "/conversations",
    "notifications": "/notifications",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the main pages with Lighthouse.")
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
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
            amelia = Visitor(portal.origin(), PASSWORD)
            amelia.sign_in("amelia")
            reports = {
                name: _median(
                    [_measure(command, work, portal.origin() + path, amelia) for _ in range(chosen.times)]
                )
                for name, path in _PAGES.items()
            }
        finally:
            portal.stop()
            service.stop()
    return 1 if min(_say(name, report) for name, report in reports.items()) < chosen.least else 0


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
    assert re.sub(r"[?#].*", "", found["finalDisplayedUrl"]) == url, (
        f"redirected to {found['finalDisplayedUrl']}"
    )
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
        sep="\t",
    )
    for about in _ABOUT:
        for reference in report["categories"][about]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
                print(f"  {about}: {audit['title']} {audit.get('displayValue', '')}")
    return min(points.values())


if __name__ == "__main__":
    sys.exit(main())
