"""A proxy before an identity server whose sign-in page wants a person: it fills that in for the browser."""

import socket
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
"""Where the server itself listens."""


def call(method, path, headers, body=b""):
    """Call the server; return status, headers and body."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.request(method, path, body or None, headers)
    answer = connection.getresponse()
    return answer.status, answer.getheaders(), answer.read()


def cookies_of(headers):
    """The cookies that an answer sets, as a browser sends them."""
    return "; ".join(value.partition(";")[0] for name, value in headers if name.lower() == "set-cookie")


class Proxy(BaseHTTPRequestHandler):
    """Passes everything on; `entered` may answer in the server's place."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Quiet."""

    def entered(self, answer):
        """What the browser gets for this answer to its GET."""
        return answer

    def do_GET(self):
        """Pass on, and sign in where the answer asks for it."""
        self.reply(*self.entered(self.passed_on()))

    def do_POST(self):
        """Pass on."""
        self.reply(*self.passed_on())

    def headers_sent(self):
        """What is passed on of the browser's headers."""
        return {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in ("connection", "content-length")
        }

    def passed_on(self):
        """The server's answer to the same request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return call(self.command, self.path, self.headers_sent(), body)

    def reply(self, status, headers, body):
        """Answer the browser."""
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "content-length", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(issuer, proxy):
    """Serve at the issuer's address for good."""
    ThreadingHTTPServer(("127.0.0.1", urlsplit(issuer).port), proxy).serve_forever()
