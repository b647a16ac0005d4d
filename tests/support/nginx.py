"""nginx with the configuration for one machine, deploy/nginx/portal.conf, with other ports and folders."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import time
from pathlib import Path
from typing import Any

from portal.demo.programs import path_of
from tests.support.certificates import self_signed
from tests.support.stack import ROOT, Process, free_port

_OURS = ROOT / "deploy" / "nginx"
MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
worker_processes 2;
worker_rlimit_nofile 16384;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {folder}/temp/body;
    proxy_temp_path {folder}/temp/proxy;
    fastcgi_temp_path {folder}/temp/fastcgi;
    uwsgi_temp_path {folder}/temp/uwsgi;
    scgi_temp_path {folder}/temp/scgi;
    include {folder}/portal.conf;
}}
"""
"""What Debian's nginx.conf is around that file, with what docs/operations.md says to set there.

Run by root, nginx stays root: the folders of tests are for nobody else.
"""


class Nginx(Process):
    """It answers at `port` over TLS and at `plain_port` without, in front of a portal on this machine."""

    def __init__(self, folder: Path, portal_port: int) -> None:
        self.folder = folder
        self.port, self.plain_port = free_port(), free_port()
        self.temp = folder / "temp"
        self.temp.mkdir(parents=True)
        key, certificate = self_signed("localhost", "127.0.0.1")
        (folder / "fullchain.pem").write_bytes(certificate)
        (folder / "key.pem").write_bytes(key)
        (folder / "portal.conf").write_text(self._configuration(portal_port))
        shutil.copytree(_OURS, folder / "nginx")
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=user))
        program = path_of("nginx")
        super().__init__(
            [program, "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "stderr"], {}, folder / "log"
        )
        until = time.monotonic() + 30
        while not _listens(self.port):
            assert self.child.poll() is None and time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)

    def _configuration(self, portal_port: int) -> str:
        given = (_OURS / "portal.conf").read_text(encoding="utf-8")
        for theirs, ours in {
            "/var/log/nginx/error.log": f"{self.folder}/error.log",
            "/var/log/nginx/portal.log": f"{self.folder}/portal.log",
            "listen 80 ": f"listen 127.0.0.1:{self.plain_port} ",
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "/etc/portal/tls/": f"{self.folder}/",
            "/srv/portal/deploy;": f"{self.folder};",
            "http://127.0.0.1:8000;": f"http://127.0.0.1:{portal_port};",
        }.items():
            assert theirs in given, theirs
            given = given.replace(theirs, ours)
        return given

    @property
    def authority(self) -> Path:
        """What a client believes that talks to it, as a PEM file."""
        return self.folder / "fullchain.pem"

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def logged(self, id_: str) -> dict[str, Any]:
        """What it logged of the request with this id, which it does once it has answered."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            log = (self.folder / "portal.log").read_text(encoding="utf-8")
            if found := [line for line in map(json.loads, log.splitlines()) if line["request"] == id_]:
                (line,) = found
                return line
            time.sleep(0.02)
        raise AssertionError(f"nginx's log has no request {id_}")

    def files_held(self) -> list[Path]:
        """Whatever lies in its folders of temporary files."""
        return [file for file in self.temp.rglob("*") if file.is_file()]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
