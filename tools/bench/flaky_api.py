"""`python -m tools.bench.flaky_api PORT CARE_PORT`: a slow and unreliable proxy in front of the care API.

Each response is fetched from the care service once per person and then repeated, so that the service's own speed isn't
measured. It comes after about 100 ms, with a mark of the person before every title; one call in a hundred fails.
`GET /counts` returns how many calls and faults there were since it was last asked.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor

_FAULT_RATE = 0.01
_chance = random.Random(20)


class FlakyApi:
    """State shared by all connections."""

    def __init__(self, care_port: int) -> None:
        self.care_port = care_port
        self.kept: dict[tuple[str, str, str], asyncio.Future[bytes]] = {}
        self.calls = self.faults = 0
        self.threads = ThreadPoolExecutor(8)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one keepalive connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                request, headers = _parsed(head)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                answer = await self.answer(request, headers, body)
                if not answer:
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, request: tuple[str, str], headers: dict[str, str], body: bytes) -> bytes:
        """Return the response, or nothing to close the connection."""
        if request[1] == "/counts":
            counts = _whole(200, json.dumps({"calls": self.calls, "faults": self.faults}).encode())
            self.calls = self.faults = 0
            return counts
        self.calls += 1
        await asyncio.sleep(_chance.uniform(0.08, 0.12))
        if _chance.random() < _FAULT_RATE:
            self.faults += 1
            return _chance.choice(
                (b"", _whole(502, b"<html>Bad gateway</html>"), _whole(200, b'{"items": [}'))
            )
        loop = asyncio.get_running_loop()
        if request[0] != "GET":
            return await loop.run_in_executor(self.threads, self.ask, request, headers, body)
        key = (_sub(headers), *request)
        if key not in self.kept:
            self.kept[key] = asyncio.ensure_future(
                loop.run_in_executor(self.threads, self.ask, request, headers, body)
            )
        return await self.kept[key]

    def ask(self, request: tuple[str, str], headers: dict[str, str], body: bytes) -> bytes:
        """Ask the care service, and mark its response as this person's."""
        care = http.client.HTTPConnection("127.0.0.1", self.care_port, timeout=30)
        sent = {name: value for name, value in headers.items() if name not in ("connection", "host")}
        care.request(*request, body or None, sent)
        answer = care.getresponse()
        mark = b"mark-" + hashlib.sha256(_sub(headers).encode()).hexdigest()[:12].encode() + b" "
        content = answer.read()
        for name in (b'"title":"', b'"subject":"'):
            content = content.replace(name, name + mark).replace(name[:-1] + b' "', name[:-1] + b' "' + mark)
        care.close()
        return _whole(answer.status, content)


def _parsed(head: bytes) -> tuple[tuple[str, str], dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    return (method, target), {name.lower(): value.strip() for name, _, value in pairs}


def _sub(headers: dict[str, str]) -> str:
    """The token's `sub`, unverified: the care service checks the tokens, not this proxy."""
    claims = headers.get("authorization", "..").split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "==") or b"{}").get("sub", "") if claims else ""


def _whole(status: int, body: bytes) -> bytes:
    kind = "text/html" if body[:1] == b"<" else "application/json"
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )


async def main(port: int, care_port: int) -> None:
    server = await asyncio.start_server(FlakyApi(care_port).serve, "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
