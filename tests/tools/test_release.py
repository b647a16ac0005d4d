"""Releases: what is in one, that it can be made again, and that it is of a commit."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.stack import ROOT
from tools import release

PIN = re.compile(r"^([\w.-]+)==([\w.]+)(?: ; (.*?))? \\$", re.MULTILINE)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what a release is made of."""
    root = tmp_path_factory.mktemp("repository")
    pins = ("requirements/portal.txt", "requirements/uv.txt")
    vendored = [str(file.relative_to(ROOT)) for file in (ROOT / "static/vendor").glob("[!.]*.[jm][sd]")]
    for name in ("pyproject.toml", "README.md", *pins, *vendored, "static/icons.svg"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((ROOT / name).read_bytes())
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=A", "-c", "user.email=a@portal.example", "commit", "--quiet", "-m", "All")
    return root


def git(root: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=root, text=True).strip()


@pytest.fixture(scope="module")
def made(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.make(tmp_path_factory.mktemp("dist"), repository)


@pytest.mark.long_run  # installs all that a release needs; make test-all is run before each
def test_the_sources_are_those_of_the_commit_and_the_same_each_time(made: Path, repository: Path) -> None:
    (archive,) = made.glob("*.tar.gz")
    name = release.name_of(repository)
    assert archive.name == f"{name}.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive.read_bytes()))) as tar:
        files = {one.name for one in tar if one.isfile()}
    assert files == {f"{name}/{file}" for file in git(repository, "ls-files").split("\n")}
    assert release.sources(repository, name) == archive.read_bytes()


@pytest.mark.long_run  # installs all that a release needs; make test-all is run before each
def test_the_bill_of_materials_lists_all_pins_and_what_is_vendored_with_licences(
    made: Path, repository: Path
) -> None:
    (file,) = made.glob("*.cdx.json")
    bom = json.loads(file.read_bytes())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    vendored = [one for one in bom["components"] if one.get("purl", "").startswith("pkg:npm/")]
    served = {repository / "static/icons.svg", *(repository / "static/vendor").glob("*.js")}
    assert {one["hashes"][0]["content"] for one in vendored} == {sha256(file) for file in served}
    listed = {(canonical(one["name"]), one["version"]) for one in bom["components"] if one not in vendored}
    text = (ROOT / "requirements/portal.txt").read_text(encoding="utf-8")
    pinned = {(canonical(name), version): where for name, version, where in PIN.findall(text)}
    assert {pin for pin, where in pinned.items() if not where} <= listed <= pinned.keys()
    (table,) = made.glob("*.licences.csv")
    rows = [*csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))]
    assert len(rows) == len(listed) + len(vendored)
    assert [row["name"] for row in rows if not row["licences"]] == []


def canonical(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.long_run  # installs all that a release needs; make test-all is run before each
def test_the_provenance_names_the_commit_and_each_file(made: Path, repository: Path) -> None:
    (file,) = made.glob("*.provenance.json")
    statement = json.loads(file.read_bytes())
    for subject in statement["subject"]:
        assert subject["digest"]["sha256"] == sha256(made / subject["name"])
    others = {one.name for one in made.iterdir()} - {file.name, "SHA256SUMS"}
    assert {subject["name"] for subject in statement["subject"]} == others
    commit, *pins = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert commit["digest"] == {"gitCommit": git(repository, "rev-parse", "HEAD")}
    assert [pin["digest"]["sha256"] for pin in pins] == [sha256(repository / pin["name"]) for pin in pins]


@pytest.mark.long_run  # installs all that a release needs; make test-all is run before each
def test_the_checksums_are_those_of_all_files(made: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=made, check=True)
    lines = (made / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert {line.split()[1] for line in lines} == {one.name for one in made.iterdir()} - {"SHA256SUMS"}


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_changed_files_make_no_release(repository: Path, tmp_path: Path) -> None:
    readme = repository / "README.md"
    before = readme.read_bytes()
    readme.write_bytes(before + b"More.\n")
    try:
        with pytest.raises(release.ReleaseError, match="commit them"):
            release.make(tmp_path / "dist", repository)
    finally:
        readme.write_bytes(before)
    assert not (tmp_path / "dist").exists()
