"""Makes a release in dist/: the sources, their SBOM (CycloneDX 1.6), licences, provenance (SLSA 1.0) and checksums.

Everything is made from a commit alone, so that whoever has the commit can make the same and compare
(docs/verify-release.md).
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).parents[1]
_PINS = ("requirements/portal.txt", "requirements/uv.txt")
_VENDORED = re.compile(
    r"^\| `(?P<file>[^`]+)` \| npm `(?P<name>[^`]+)`.*\| (?P<version>[\d.]+) \| (?P<licence>[\w.-]+), ",
    re.MULTILINE,
)
"""A row of static/vendor/README.md."""


class ReleaseError(Exception):
    """Why there is no release, in one line."""


def main() -> int:
    """Write the release of HEAD to dist/, and print its checksums."""
    try:
        made = make(ROOT / "dist")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    print((made / "SHA256SUMS").read_text(encoding="utf-8"), end="")
    return 0


def make(folder: Path, root: Path = ROOT) -> Path:
    """Write the release of `root`'s HEAD to `folder`, and return it. Raises ReleaseError."""
    if _git(root, "status", "--porcelain", "--untracked-files=no"):
        raise ReleaseError(
            "There are changes that no commit holds: commit them, or make the release from a clone."
        )
    name = name_of(root)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.tar.gz").write_bytes(sources(root, name))
    bom = bill_of_materials(root)
    _write(folder / f"{name}.cdx.json", bom)
    (folder / f"{name}.licences.csv").write_text(licences(bom), encoding="utf-8")
    subjects = sorted(file for file in folder.iterdir() if file.name.startswith(f"{name}."))
    subjects = [file for file in subjects if not file.name.endswith(".provenance.json")]
    _write(folder / f"{name}.provenance.json", provenance(root, subjects))
    summed = sorted(file for file in folder.iterdir() if file.name.startswith(f"{name}."))
    lines = [f"{_sha256(file)}  {file.name}\n" for file in summed]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return folder


def name_of(root: Path) -> str:
    """Return the release's name and version, as in pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name']}-{project['version']}"


def sources(root: Path, name: str) -> bytes:
    """Return HEAD's files as a tar, compressed without a time."""
    tar = subprocess.run(
        ["git", "archive", "--format=tar", f"--prefix={name}/", "HEAD"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return gzip.compress(tar, mtime=0)


def bill_of_materials(root: Path) -> dict[str, Any]:
    """Return the CycloneDX document of what production installs, from a fresh environment of its pins, and of what is vendored."""
    with tempfile.TemporaryDirectory() as temporary:
        environment = Path(temporary) / "venv"
        uv = Path(sys.executable).with_name("uv")
        os_environment = {**os.environ, "VIRTUAL_ENV": str(environment)}
        subprocess.run([uv, "venv", "--quiet", environment], check=True, env=os_environment)
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--require-hashes", "-r", root / _PINS[0]],
            check=True,
            env=os_environment,
        )
        command: list[str | Path] = [
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject"),
            *(root / "pyproject.toml", "--mc-type", "application", "--spec-version", "1.6"),
            environment / "bin/python",
        ]
        made = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    bom = cast("dict[str, Any]", json.loads(made))
    bom["components"] = [*bom["components"], *_vendored(root / "static/vendor")]
    return bom


def _vendored(folder: Path) -> list[dict[str, Any]]:
    """Return the components that browsers load, as static/vendor/README.md names them."""
    table = (folder / "README.md").read_text(encoding="utf-8")
    return [
        {
            "type": "library",
            "name": row["name"],
            "version": row["version"],
            "purl": f"pkg:npm/{row['name']}@{row['version']}",
            "bom-ref": f"{row['name']}=={row['version']}",
            "licenses": [{"license": {"id": row["licence"]}}],
            "hashes": [{"alg": "SHA-256", "content": _sha256(folder / row["file"])}],
        }
        for row in _VENDORED.finditer(table)
    ]


def licences(bom: dict[str, Any]) -> str:
    """Return a CSV of name, version and licences (SPDX where the package says so) of each component."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", "version", "licences"))
    for component in bom["components"]:
        writer.writerow((component["name"], component["version"], "; ".join(_licences_of(component))))
    return text.getvalue()


def _licences_of(component: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for choice in component.get("licenses", ()):
        licence = choice.get("license", {})
        found.append(choice.get("expression") or licence.get("id") or licence.get("name"))
    return list(dict.fromkeys(filter(None, found)))


def provenance(root: Path, subjects: list[Path]) -> dict[str, Any]:
    """Return an in-toto statement (v1) of where the files come from (SLSA 1.0); whoever publishes it signs it.

    `RELEASE_BUILDER` is the URI of the machine that makes it; without it, nobody vouches for one.
    """
    pins = [{"name": pin, "digest": {"sha256": _sha256(root / pin)}} for pin in _PINS]
    commit = {"name": "source", "digest": {"gitCommit": _git(root, "rev-parse", "HEAD")}}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": _sha256(file)}} for file in subjects],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "tag:clinic-portal,2026:make-release",
                "externalParameters": {"command": "make release"},
                "resolvedDependencies": [commit, *pins],
            },
            "runDetails": {
                "builder": {"id": os.environ.get("RELEASE_BUILDER", "tag:clinic-portal,2026:unknown")}
            },
        },
    }


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ReleaseError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
