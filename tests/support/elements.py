"""HTML as elements that CSS selectors find: lxml's, with what a test asks of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from cssselect import HTMLTranslator
from lxml.etree import ElementDefaultClassLookup, XPath, tostring
from lxml.html import HtmlElement, HTMLParser, document_fromstring


class Element(HtmlElement):
    """An element of a page."""

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return str(tostring(self, encoding="unicode", method="html", with_tail=False))

    def __getitem__(self, key: Any) -> Any:
        """An attribute's value by its name; a child by its place, as lxml has it."""
        return self.attrib[key] if isinstance(key, str) else super().__getitem__(key)

    def select(self, selector: str) -> list[Any]:
        """The elements in this one that a CSS selector finds, in their order; of a page, also its root."""
        return [one for one in _path(selector)(self) if one is not self or one.getparent() is None]

    def select_one(self, selector: str) -> Any:
        """The first that a CSS selector finds; None without one."""
        return next(iter(self.select(selector)), None)

    @property
    def words(self) -> str:
        """What a person reads in it, in one line."""
        return " ".join(" ".join(texts(self)).split())


@cache
def _path(selector: str) -> XPath:
    return XPath(HTMLTranslator().css_to_xpath(selector))


_PARSER = HTMLParser()
_PARSER.set_element_class_lookup(ElementDefaultClassLookup(element=Element))


def parsed(html: str) -> Any:
    """The root element of a page, or of what there is of one; None of nothing.

    It has no `wbr`, of which lxml doesn't know that nothing is in one.
    """
    return document_fromstring(html.replace("<wbr>", ""), parser=_PARSER) if html.strip() else None


_TEXTS = XPath(".//text()[not(ancestor::script or ancestor::style or ancestor::template)]")


def texts(element: Any) -> list[str]:
    """The texts of an element that a person reads, as they stand between tags; none of None."""
    return [] if element is None else _TEXTS(element)
