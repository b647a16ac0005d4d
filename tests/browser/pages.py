"""The pages as a person sees them: each step returns the page it leads to, once its heading is there."""

from __future__ import annotations

import re
from typing import Self

from playwright.sync_api import Error, Locator, Page, expect

from tests.support.stack import PASSWORD
from tests.support.visitor import Visitor

Words = str | re.Pattern[str]


def ready(page: Page) -> None:
    """Begin to use the page, and wait until htmx has come; where there are scripts.

    People may be quicker: then links and forms load whole pages. But these tests are about what htmx does.
    """
    question = "matchMedia('(scripting: enabled)').matches && document.scripts.length"
    try:
        has_scripts = page.evaluate(question)
    except Error:  # the page was navigating to the requested one
        page.wait_for_load_state()
        has_scripts = page.evaluate(question)
    if has_scripts:
        page.wait_for_function(
            "() => { document.dispatchEvent(new Event('scroll')); return document.querySelector('link[rel=manifest]'); }"
        )


class Seen:
    """Any page, in this browser; elements are found by role and name, as people and screen readers find them."""

    HEADING: Words = re.compile(".")

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        expect(page.get_by_role("heading", level=1)).to_have_text(self.HEADING)
        ready(page)

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    def sees(self, words: Words) -> Self:
        expect(self.main.get_by_text(words).first).to_be_visible()
        return self

    def press(self, name: Words) -> None:
        self.main.get_by_role("button", name=name).first.click()

    def follow(self, name: Words) -> None:
        self.main.get_by_role("link", name=name).first.click()

    def section(self, name: Words) -> None:
        """Go to one of the sections of the frame."""
        self.page.get_by_role("navigation", name=re.compile("Main|Sections")).get_by_role(
            "link", name=name
        ).click()

    def bell(self) -> Locator:
        return self.page.locator("#bell")

    def go(self, path: str) -> Seen:
        self.page.goto(self.origin + path)
        return Seen(self.page, self.origin)

    def sign_out(self) -> SignedOut:
        self.page.locator("summary", has_text="Your menu").click()
        self.page.get_by_role("button", name="Sign out").click()
        return SignedOut(self.page, self.origin)


class SignedOut(Seen):
    HEADING = "You are signed out"


class Home(Seen):
    HEADING = re.compile("^(Hello, |Worklist)")

    def treatment(self) -> Seen:
        """The only one that this person has."""
        self.section("Treatment")
        expect(self.page).to_have_title(re.compile("Today"))
        return Seen(self.page, self.origin)

    def consents(self) -> Consents:
        self.section(re.compile("^Consents"))
        return Consents(self.page, self.origin)

    def messages(self) -> Messages:
        self.section(re.compile("^Messages"))
        return Messages(self.page, self.origin)

    def notifications(self) -> Notifications:
        self.bell().get_by_role("link").click()
        return Notifications(self.page, self.origin)


class Consents(Seen):
    HEADING = "Consents"

    def open(self, title: Words) -> Consent:
        self.follow(title)
        return Consent(self.page, self.origin)

    def sign(self, title: Words) -> Reading:
        """Begin to sign one of those that wait for this person."""
        self.follow(title)
        return Reading(self.page, self.origin)


class Consent(Seen):
    """One form, on its paper."""

    def withdraw(self, reason: str) -> Withdrawn:
        self.follow(re.compile("Withdraw"))
        self.page.get_by_label(re.compile("why|Reason")).fill(reason)
        self.press(re.compile("Withdraw"))
        return Withdrawn(self.page, self.origin)


class Withdrawn(Seen):
    HEADING = "This consent is withdrawn"


class Reading(Seen):
    def have_read(self) -> Statements:
        self.press("I have read the form")
        return Statements(self.page, self.origin)


class Statements(Seen):
    def agree_to_all(self) -> Naming:
        for box in self.main.get_by_role("checkbox").all():
            box.check()
        self.press("Continue")
        return Naming(self.page, self.origin)


class Naming(Seen):
    HEADING = "Sign this form"

    def sign_as(self, name: str) -> Receipt:
        self.page.get_by_label("Type your full name").fill(name)
        self.press("Sign this form")
        return Receipt(self.page, self.origin)


class Receipt(Seen):
    HEADING = re.compile("^(You’ve signed|Receipt)$")

    def open_proof(self) -> Receipt:
        """Unfold who signed what, when and how, and the seals."""
        self.main.locator("#proof > summary").click()
        return self

    def verify(self) -> None:
        """Have the text compared with each signature."""
        self.open_proof().press("Verify")

    @property
    def checks(self) -> Locator:
        """What came of it: one item for each signature, the reader's own first."""
        return self.main.locator("#verification").get_by_role("listitem")


class Messages(Seen):
    HEADING = re.compile("^Messages")

    def open(self, subject: Words) -> Thread:
        self.follow(subject)
        return Thread(self.page, self.origin)


class Thread(Seen):
    @property
    def messages(self) -> Locator:
        return self.page.get_by_role("region", name="Messages in this conversation")

    @property
    def in_thread(self) -> Locator:
        """The messages that aren't archived."""
        return self.messages.locator("#messages > .bubble")

    def archive_first(self) -> None:
        self.archive(0)

    def archive(self, place: int) -> None:
        """Archive a message by its menu."""
        message = self.in_thread.nth(place)
        message.locator("summary").click()
        message.get_by_role("button", name=re.compile("^Archive")).click()

    def is_told(self, words: Words) -> None:
        expect(self.page.locator("#toasts").get_by_text(words).first).to_be_visible()

    def undo(self) -> None:
        self.page.get_by_role("button", name="Undo").click()


class Notifications(Seen):
    HEADING = "Notifications"

    def all_read(self) -> None:
        self.press(re.compile("all.*read", re.IGNORECASE))


def sign_in(page: Page, origin: str, name: str, path: str = "/") -> Home:
    """Open the portal, give name and password at the identity server, and be back."""
    page.goto(origin + path)
    # By field names, because the page is in the browser's language.
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("form button").click()
    page.wait_for_url(origin + "/**")
    return Home(page, origin)


def arrive(page: Page, origin: str, name: str) -> Home:
    """Be signed in: over HTTP, for the browser takes as long to sign in as for most of what a test does then."""
    visitor = Visitor(origin, PASSWORD)
    visitor.http.headers["User-Agent"] = page.evaluate("navigator.userAgent")
    visitor.sign_in(name, "/me/devices/sign-out")
    for one in visitor.http.cookies:
        host = one.domain.removesuffix(".local")
        page.context.add_cookies(
            [
                {
                    "name": one.name,
                    "value": str(one.value),
                    "url": f"https://{host}/" if one.secure else f"http://{host}/",
                    "secure": one.secure,
                    "httpOnly": True,
                    "sameSite": "Lax",
                }
            ]
        )
    page.goto(origin)
    return Home(page, origin)


def signs(reading: Reading, name: str) -> Receipt:
    """Every step from reading the form to the receipt."""
    return reading.have_read().agree_to_all().sign_as(name)
