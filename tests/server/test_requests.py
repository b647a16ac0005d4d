"""How the server reads requests (RFC 9112), refusing whatever two servers could interpret differently."""

from __future__ import annotations

import socket
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.server.application import FileWrapper
from portal.server.request import InvalidRequest, Limits, Request, check_head
from portal.web.headers import FIXED
from tests.server.conftest import Served
from tests.support.full import examples

HOST = b"Host: small.test\r\n"


def test_the_application_gets_the_request_as_sent(served: Served) -> None:
    _, _, body = served.get(
        "/a%20b%C3%A9?q=1&r=%20", "Accept: text/html", "X-Two: a", "X-Two: b", "Cookie: a=1", "Cookie: b=2"
    )
    assert body.decode("latin-1").startswith("GET |  | /a bÃ© | q=1&r=%20 | 127.0.0.1 | http | ")
    for field in (
        b"HTTP_ACCEPT=text/html",
        b"HTTP_X_TWO=a,b",
        b"HTTP_COOKIE=a=1; b=2",
        b"HTTP_HOST=small.test",
    ):
        assert field in body


def test_an_absolute_form_target_is_accepted(served: Served) -> None:
    _, _, body = served.send(b"GET http://small.test/x/y?z HTTP/1.1\r\n" + HOST + b"\r\n")
    assert body.startswith(b"GET |  | /x/y | z | ")


@pytest.mark.parametrize("host", ["other.test", "other.test:8080", "[2001:db8::1]:80"])
def test_the_host_of_an_absolute_form_target_is_the_host(served: Served, host: str) -> None:
    _, _, body = served.send(f"GET http://{host}/x HTTP/1.1\r\n".encode() + HOST + b"\r\n")
    assert f"HTTP_HOST={host} |".encode() in body


def test_pipelined_requests_on_a_connection_are_answered_in_order(served: Served) -> None:
    client = served.client()
    post = b"POST /2 HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc"
    client.send(b"GET /slow?1 HTTP/1.1\r\n" + HOST + b"\r\n" + post + b"GET /3 HTTP/1.1\r\n" + HOST + b"\r\n")
    bodies = [client.answer()[2] for _ in range(3)]
    assert [body.split(b" | ")[2] for body in bodies] == [b"/slow", b"/2", b"/3"]
    assert bodies[1].endswith(b" | 3 | abc")
    assert client.get("/4")[0] == 200


def test_a_body_sent_in_pieces_reaches_the_application_whole(served: Served) -> None:
    client = served.client()
    client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n01234")
    client.send(b"56789GET /next HTTP/1.1\r\n" + HOST + b"\r\n")
    assert client.answer()[2].endswith(b" | 10 | 0123456789")
    assert b"/next" in client.answer()[2]


def test_a_chunked_body_is_read_and_the_connection_closed(served: Served) -> None:
    client = served.client()
    client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    client.send(b"4;name=value\r\ndefg\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n")
    _, fields, body = client.answer()
    assert body.endswith(b" | 7 | abcdefg")
    assert b"TRANSFER_ENCODING" not in body, "the application reads a body of a known length"
    assert fields["connection"] == "close"
    assert client.is_closed()


def test_expect_100_continue_is_answered(served: Served) -> None:
    client = served.client()
    client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert client.answer()[0] == 100
    client.send(b"ok")
    assert client.answer()[2].endswith(b" | 2 | ok")


def test_connection_close_is_honoured(served: Served) -> None:
    client = served.client()
    assert client.get("/", "Connection: foo, Close")[1]["connection"] == "close"
    assert client.is_closed()


def test_an_http_1_0_client_is_answered_and_disconnected(served: Served) -> None:
    client = served.client()
    client.send(b"GET / HTTP/1.0\r\n\r\n")
    status, fields, _ = client.answer()
    assert (status, fields["connection"]) == (200, "close")
    assert client.is_closed()
    client = served.client()
    client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert client.answer()[1]["connection"] == "keep-alive"
    assert client.get("/")[0] == 200


def test_a_half_closed_client_still_gets_its_response(served: Served) -> None:
    client = served.client()
    client.send(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
    client.socket.shutdown(socket.SHUT_WR)
    assert client.answer()[0] == 200


@pytest.mark.asvs("4.2.1")
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1,1\r\n\r\na",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: +1\r\n\r\na",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\na",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 0x1\r\n\r\na",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length:\r\n\r\na",
        b"GET / HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n"
        + HOST
        + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\ng\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: t\r\n\r\n",
        b"GET / HTTP/1.1\r\n"
        + HOST
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + b"1\r\na\r\n" * 20000
        + b"0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Folded: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Folded: a\r\n\tb\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: small.test\r\n\r\n",
        b"GET / HTTP/1.1\nHost: small.test\n\n",
        b"GET / HTTP/1.1\r\nHost: small.test\nX: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: small.test\rX: y\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X Y: z\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Y : z\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b": z\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Nul: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Control: a\x01b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xe9 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /#part HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET x HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://someone@small.test/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http:///x HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"CONNECT small.test:80 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_a_malformed_or_ambiguous_request_is_refused_and_the_connection_closed(
    served: Served, data: bytes
) -> None:
    client = served.client()
    client.send(data)
    status, fields, _ = client.answer()
    assert status in (400, 505)
    assert fields["connection"] == "close"
    assert client.is_closed_to_more()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET /" + b"a" * 9000, 414),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: y\r\n" % n for n in range(101)) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 20000, 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Expect: a pony\r\n\r\n", 417),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 2000000\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + b"x" * 0x200000, 413),
        (b"GET /fail?what HTTP/1.1\r\n" + HOST + b"\r\n", 500),
        (b"GET /bad-header HTTP/1.1\r\n" + HOST + b"\r\n", 500),
        (b"GET /split-header HTTP/1.1\r\n" + HOST + b"\r\n", 500),
    ],
)  # fmt: skip
def test_the_servers_own_responses_have_a_message_and_the_security_headers(
    served: Served, data: bytes, status: int
) -> None:
    client = served.client()
    client.send(data)
    found, fields, body = client.answer()
    assert found == status
    assert {name: fields[name.lower()] for name in FIXED} == FIXED
    assert fields["content-type"] == "text/plain; charset=utf-8"
    assert b"." in body
    assert client.is_closed_to_more()


@pytest.mark.parametrize(
    "framed",
    [
        b"Content-Length: 2000000\r\n\r\n" + b"x" * 2000000,
        b"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + b"x" * 0x200000 + b"\r\n0\r\n\r\n",
    ],
)
def test_an_application_may_answer_an_oversized_body_itself(served: Served, framed: bytes) -> None:
    client = served.client()
    client.send(b"POST /measured HTTP/1.1\r\n" + HOST + framed)
    assert client.answer()[::2] == (413, b"in my own words")


@given(
    parts=st.lists(
        st.sampled_from(
            [
                *(
                    b"GET",
                    b"POST",
                    b" ",
                    b"/a?b",
                    b"*",
                    b"http://x/",
                    b"HTTP/1.1",
                    b"HTTP/1.0",
                    b"\r\n",
                    b"\r",
                ),
                *(
                    b"\n",
                    b"Host: x",
                    b"Content-Length: 1",
                    b"Transfer-Encoding: chunked",
                    b": ",
                    b"\t",
                    b"\0",
                ),
                *(b"Upgrade: h2c\r\nConnection: Upgrade", b"Expect: 100-continue", b"\xff", b"%", b"#", b"_"),
            ]
        ),
        max_size=12,
    ),
    is_begun=st.booleans(),
)
@settings(max_examples=examples(400), deadline=None)
def test_any_bytes_are_a_request_or_refused(parts: list[bytes], is_begun: bool) -> None:
    begun = b"GET / HTTP/1.1\r\nHost: x\r\n" if is_begun else b""
    data = bytearray(begun + b"".join(parts) + b"\r\n\r\n")
    end = data.index(b"\r\n\r\n")
    try:
        check_head(data, start=0, end=end + 2, limits=Limits())
        request = Request(bytes(data[: end + 4]), {"SCRIPT_NAME": ""}, Limits())
        if request.length is None:
            request.feed(bytes(data[end + 4 :]) + b"1\r\na\r\n0\r\n\r\n")
    except InvalidRequest as error:
        assert 400 <= error.status < 600


def test_no_url_reaches_the_servers_log(served: Served) -> None:
    for data in (
        b"GET /kanary1?kanary2 HTTP/1.1\r\nkanary3\r\n\r\n",
        b"GET /fail?kanary4 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /kanary5" + b"a" * 9000,
    ):
        assert served.send(data)[0] >= 400
    log = served.log.read_text()
    assert "kanary" not in log
    assert "ValueError" in log


def test_header_names_with_underscores_are_dropped(served: Served) -> None:
    _, _, body = served.get("/", "X-Forwarded-For: 192.0.2.1", "X_Forwarded_For: 192.0.2.2")
    assert b"HTTP_X_FORWARDED_FOR=192.0.2.1 |" in body


def test_an_untrusted_client_cannot_set_the_scheme(served: Served) -> None:
    assert b" | http | " in served.get("/", "X-Forwarded-Proto: https")[2]


def test_a_file_is_closed_with_its_response() -> None:
    file = BytesIO(b"a file")
    body = FileWrapper(file)
    assert [*body] == [b"a file"]
    body.close()
    assert file.closed
