"""The checks of every fetched page: each violation is detected."""

from __future__ import annotations

import pytest
import requests

from tests.support.visitor import Page, Visitor, lint

WHOLE = '<!DOCTYPE html><html lang="en"><head><title>T</title></head><body><main><h1>A</h1>{}</main></body></html>'
HEADERS = ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control")


def page(text: str) -> Page:
    answer = requests.Response()
    answer.status_code = 200
    answer.headers.update({"Content-Type": "text/html; charset=utf-8", **dict.fromkeys(HEADERS, "x")})
    answer.encoding = "utf-8"
    answer._content = text.encode()
    return Page(Visitor("http://clinic.example", "a password"), answer, "http://clinic.example/")


def test_a_valid_page_and_a_valid_fragment_pass() -> None:
    lint(page(WHOLE.format('<p id="a">One &amp; two</p><label>Name <input name="name"></label>')))
    lint(page('<hx-partial><p id="a">One</p></hx-partial>'))


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("<p><div>x</div></p>", "not valid HTML"),
        ("<b><p>x</b></p>", "not valid HTML"),
        ("</section>", "not valid HTML"),
        ('<p title="a" title="b">x</p>', "not valid HTML"),
        ("<p>AT&T</p>", "not valid HTML"),
        ('<a href="/?a=1&copy">x</a>', "not valid HTML"),
        ("<p>Signer(name=None)</p>", "Python value on the page"),
        ('<p id="a"></p><p id="a"></p>', "duplicate ids"),
        ("<h1>B</h1>", "2 h1"),
        ('<input name="a">', "field without label"),
        ('<label for="b">A</label><select id="a"></select><p id="b">x</p>', "field without label"),
        ('<button type="submit"><svg aria-hidden="true"></svg> </button>', "without words"),
        ('<a href="/x"><svg aria-hidden="true"></svg></a>', "without words"),
        ('<p style="color: red">x</p>', "style"),
        ('<p onclick="a()">x</p>', "onclick"),
        ('<a hx-get="/x">y</a>', "without nonce"),
        ("<script>x</script>", "inline script"),
        ("<style>x</style>", "inline style"),
        ('<form method="post"></form>', "without CSRF token"),
        ('<a href="">x</a>', "lead nowhere"),
        ('<a href="//elsewhere.example">x</a>', "lead nowhere"),
        ('<form action="javascript:x"></form>', "lead nowhere"),
        ('<time datetime="Friday">x</time>', "no times"),
        ('<svg><use href="/static/icons.svg#dragon"/></svg>', "no such icons"),
        ("<p> <span></span></p>", "nothing in it"),
        ("<details>x</details>", "a part is missing"),
        ('<p data-tone="">x</p>', "a part is missing"),
        ('<p class="field-error">x</p>', "a part is missing"),
        ('<figure><img src="/a" alt=""></figure>', "a part is missing"),
        ('<select aria-label="a" aria-invalid="true" id="a"></select>', "described by its error"),
        ('<p aria-describedby="nobody">x</p>', "nothing has these ids"),
        ('<nav><a href="/" data-key="/x">x</a></nav>', "data-key|/x"),
    ],
)
def test_each_page_rule_is_enforced(part: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        lint(page(WHOLE.format(part)))


@pytest.mark.parametrize(
    ("before", "fault"),
    [
        ("</head>", "<head><title>B</title></head>"),
        ("</html>", "<p>lost</p>"),
        ("<body>", '<link rel="icon" href="/a">'),
        ("<body>", '<meta name="a">'),
    ],
)
def test_what_is_lost_beside_a_head_and_a_body_that_were_valid_is_found(before: str, fault: str) -> None:
    valid = WHOLE.format("<p>One</p>")
    lint(page(valid))
    place = valid.index(before) + len(before if before == "</head>" else "")
    with pytest.raises(AssertionError, match="not valid HTML"):
        lint(page(valid[:place] + fault + valid[place:]))
