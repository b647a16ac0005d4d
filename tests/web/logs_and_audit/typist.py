"""Types a unique word into every free-text field, as each person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from portal.careservice.ids import sample_id
from tests.support.signing import consent, fresh_form, to_step
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, SignIn, Visitor
from tests.web.logs_and_audit.output import AMELIAS, GRACES

MOST_PAGES = 24
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LEFT_ALONE = re.compile(r"/(sign-out|language|static|book/)|/sign-out$")
"""Forms that end the session, and addresses that aren't a signed-in person's pages."""
WHO = {
    "amelia": ("/", f"{consent('amelia-genetic')}/revoke"),
    "nora": (
        "/",
        f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}",
        f"/episodes/{AMELIAS}",
        "/open",
    ),
    "grace": ("/", "/storage"),
    "ada": ("/emr-endpoints/{}/remove".format(sample_id("emr-endpoint", "riverside-main")), "/"),
    "victor": (
        f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIAS}",
        f"/protocols/{sample_id('protocol', 'amelia')}/edit",
        f"/protocols/new?episode={AMELIAS}",
        f"/consents/new?template=treatment&episode={AMELIAS}",
    ),
    "colin": (
        f"/prospects/{sample_id('prospect', 'tomasz')}/book",
        f"/prospects/{sample_id('prospect', 'ines')}/merge",
    ),
    "elif": (f"/storage/{sample_id('embryo', 'GO-3')}?episode={GRACES}",),
}
"""Who types, and the pages they start from."""
TYPED_INTO = {
    *(
        "/care-team",
        "/cases/id/edit",
        "/consents",
        "/consents/id/revoke",
        "/consents/new/fill",
        "/conversations",
    ),
    *("/emr-endpoints/id/remove", "/me", "/open", "/patients/id/edit", "/prospects/id/merge", "/protocols"),
    *("/protocols/id/edit", "/protocols/new", "/storage/id"),
}
"""Where forms with free text are sent to; signing is done by hand."""


class Typist:
    """Opens every page that it finds and types a unique word into every free-text field."""

    TYPED = "input[type=text], input[type=search], input[type=email], input[type=tel], input:not([type]), textarea"

    def __init__(self, visitor: Visitor, numbers: Iterator[int]) -> None:
        self.visitor = visitor
        self.numbers = numbers
        self.canaries: list[str] = []
        self.opened: set[str] = set()
        self.sent: set[tuple[str, ...]] = set()

    def canary(self, kind: str) -> str:
        """Return a word that occurs nowhere else, in the format of the field."""
        number = next(self.numbers)
        made = {"email": f"kanary{number}@typed.example", "tel": f"+44 20 7946 {number:04}"}
        self.canaries.append(made.get(kind, f"Kanary{number} Zzyzx"))
        return self.canaries[-1]

    def go(self, *starts: str) -> None:
        """Walk through the pages from these, breadth first; a list sorted or filtered differently is the same page."""
        waiting = list(starts)
        while waiting and len(self.opened) < MOST_PAGES:
            path = waiting.pop(0)
            kind = UUID.sub("id", re.sub("=[^&]*", "", path))
            if kind in self.opened or LEFT_ALONE.search(path):
                continue
            self.opened.add(kind)
            page = self.visitor.get(path, status=None)
            assert page.status < 500, f"{path}: {page.status}"
            waiting += self.links(page)
            self.fill(page)

    def links(self, page: Page) -> list[str]:
        found = [urlsplit(urljoin(page.url, str(a["href"]))) for a in page.select("a[href]")]
        here = urlsplit(self.visitor.origin).netloc
        return [f"{one.path}{one.query and '?' + one.query}" for one in found if one.netloc == here]

    def fill(self, page: Page, depth: int = 0) -> None:
        for element in page.select("form"):
            form = page.form(element)
            fields = [field for field in element.select(self.TYPED) if field.get("name")]
            kind = (UUID.sub("id", urlsplit(form.action).path), *(str(field["name"]) for field in fields))
            if not fields or kind in self.sent or LEFT_ALONE.search(kind[0]):
                continue
            self.sent.add(kind)
            typed = {str(field["name"]): self.canary(str(field.get("type") or "")) for field in fields}
            answer = form.submit(check_all=True, status=None, **typed)
            assert answer.status < 500, f"{form.action}: {answer.status}"
            if depth < 2 and answer.url.startswith(self.visitor.origin):
                self.fill(answer, depth + 1)


def by_hand(person: SignIn, portal: PortalThread, service: CareService, numbers: Iterator[int]) -> list[str]:
    amelia, nora, colin, ada = person("amelia"), person("nora"), person("colin"), person("ada")
    canaries: list[str] = []

    def canary(pattern: str = "Kanary{} Zzyzx") -> str:
        canaries.append(pattern.format(next(numbers)))
        return canaries[-1]

    for visitor in (amelia, nora):
        for place in (
            "/episodes",
            "/consents",
            "/conversations",
            "/files",
            "/pgt-results",
            "/storage",
            "/protocols",
        ):
            visitor.get(f"{place}/{canary('kanary{}@typed.example')}", status=None)
        visitor.get(f"/{canary()}?{canary('kanary{}')}={canary()}", status=404)
        for header in ("Referer", "User-Agent", "Accept-Language", "HX-Target", "HX-Current-URL", "Cookie"):
            visitor.get("/consents", status=None, headers={header: canary("kanary{}"), "HX-Request": "true"})
        visitor.post("/language", {"language": canary(), "next": canary()}, status=None)
        visitor.post("/consents", {"csrf_token": canary()}, status=None)
    portal.visitor().get(f"/sign-in?next=/{canary('kanary{}')}", status=None)
    portal.visitor().get(
        f"/sign-in/callback?state={canary('kanary{}')}&code={canary('kanary{}')}", status=None
    )
    portal.visitor().get(
        f"/sign-in/callback?error={canary('kanary{}')}&error_description={canary()}&state=x", status=None
    )
    portal.visitor().get(f"/book/{canary('kanary{}')}", status=None)
    portal.visitor().request("POST", "/sign-out/back-channel", data={"logout_token": canary()}, status=None)

    # An id is typed too, and may be anything.
    for visitor, kind in ((colin, "prospect"), (ada, "emr-endpoint"), (nora, "episode")):
        page = (
            visitor.get("/open")
            .form("/open")
            .submit(id=canary("kanary{}@typed.example"), kind=kind, status=None)
        )
        for element in page.select("main form"):
            form = page.form(element)
            values: dict[str, Any] = {}
            if element.select_one("[name=typed]"):
                values["typed"] = canaries[-1]
            if windows := element.select("input[name=window]"):
                values["window"] = str(windows[0]["value"])
            form.submit(status=None, **values)
    address = f"/prospects/{canary('kanary{}')}/book-link"
    colin.get(address).form(address).submit(days="7", status=None)

    form = fresh_form(service.plan)
    to_step(amelia, form, "Sign this form").form(f"{form}/sign").submit(signature=canary(), status=None)
    to_step(amelia, form, "Sign this form").form(f"{form}/sign").submit(signature="Amelia Hart")
    amelia.get(f"{form}/revoke").form(f"{form}/revoke").submit(reason=canary(), status=None, check_all=True)
    return canaries
