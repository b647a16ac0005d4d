"""The pages as a person sees them: each step returns the page it leads to, once its heading is there."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.stack import PASSWORD


class Seen:
    """Any page, in this browser."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin

    def heading(self, words: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(words)

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name)

    def link(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("link", name=name)

    def text(self, words: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_text(words)

    def see(self, words: str | re.Pattern[str]) -> None:
        expect(self.text(words).first).to_be_visible()


class Portal(Seen):
    """A browser at the portal, before and after signing in."""

    def go(self, path: str) -> Portal:
        self.page.goto(self.origin + path)
        return self

    def sign_in(self, name: str, path: str = "/") -> Portal:
        self.page.goto(self.origin + path)
        self.give_password(name)
        self.page.wait_for_url(self.origin + "/**")
        return self

    def give_password(self, name: str) -> None:
        expect(self.page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.button("Sign in").click()

    def sign_out(self) -> None:
        self.page.locator("summary:has-text('Your menu')").click()
        self.button("Sign out").click()
        self.heading("You are signed out")

    def is_at_sign_in(self) -> None:
        expect(self.page.get_by_label("Password")).to_be_visible()
