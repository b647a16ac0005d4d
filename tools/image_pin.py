"""Pins the Dockerfile's base image by its digest, as its registry names it now: `make image-pin`.

By the registry's own interface (OCI Distribution Specification 1.1, §3: Pulling manifests). A digest is believed only if the manifest
that came has it; where no registry can be reached nothing is changed, and no digest is made up.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import requests

DOCKERFILE = Path(__file__).parents[1] / "Dockerfile"
REGISTRY = "https://registry-1.docker.io"
_KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_BASE = re.compile(
    r"^FROM (?P<image>[a-z][a-z0-9/_-]*):(?P<tag>[\w.-]+)(?:@sha256:[0-9a-f]{64})?", re.MULTILINE
)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class NoDigest(Exception):
    """There is none to be had; `args[0]` says why."""


def digest_of(image: str, tag: str, registry: str = REGISTRY) -> str:
    """Return `sha256:…` of the image's manifest for all machines; raise NoDigest."""
    name = image if "/" in image else f"library/{image}"
    address = f"{registry}/v2/{name}/manifests/{tag}"
    headers = {"Accept": ", ".join(_KINDS)}
    try:
        answer = requests.get(address, headers=headers, timeout=20)
        if answer.status_code == 401:
            headers["Authorization"] = f"Bearer {_token(answer)}"
            answer = requests.get(address, headers=headers, timeout=20)
    except requests.RequestException as error:
        raise NoDigest(f"{registry} can't be reached ({type(error).__name__})") from error
    if answer.status_code != 200:
        raise NoDigest(f"{registry} answers {answer.status_code} for {image}:{tag}")
    digest = f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
    if answer.headers.get("Docker-Content-Digest", digest) != digest:
        raise NoDigest(f"{registry} names another digest than that of its manifest")
    return digest


def _token(refused: requests.Response) -> str:
    asked = dict(_CHALLENGE.findall(refused.headers.get("WWW-Authenticate", "")))
    answer = requests.get(asked.pop("realm", ""), params=asked, timeout=20)
    answer.raise_for_status()
    return str(answer.json()["token"])


def pin(dockerfile: Path, registry: str = REGISTRY) -> list[str]:
    """Write the digests into the file and return the images with them; raise NoDigest and change nothing."""
    text = dockerfile.read_text(encoding="utf-8")
    bases = sorted({(found["image"], found["tag"]) for found in _BASE.finditer(text)})
    digests = {base: digest_of(*base, registry) for base in bases}

    def pinned(found: re.Match[str]) -> str:
        return f"FROM {found['image']}:{found['tag']}@{digests[found['image'], found['tag']]}"

    dockerfile.write_text(_BASE.sub(pinned, text), encoding="utf-8")
    return [f"{image}:{tag}@{digests[image, tag]}" for image, tag in bases]


def main() -> int:
    try:
        print(*pin(DOCKERFILE), sep="\n")
    except NoDigest as error:
        print(f"Nothing pinned: {error}.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
