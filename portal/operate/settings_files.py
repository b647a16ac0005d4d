"""Copies of the files that the settings are read from, as of the last time they were valid.

Workers start with these copies, so a changed file takes effect at the next reload (HUP). Otherwise a fault in one would
bring the portal down hours later, when a recycled worker can't start.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import cast

from portal.operate import log_lines, scratch

_ROOT = Path(__file__).parents[2]
_COPIED = ("PORTAL_TENANTS", "PORTAL_CA_FILE")
KEPT = "PORTAL_KEPT_FILES"
"""The same as in portal/config/tenants_file.py, which gunicorn's master doesn't load."""

_SECRETS = "PORTAL_SECRETS"
_LARGEST_SECRET = 16_384
_LARGEST_TEXT = 1024 * 1024


class SettingsFiles:
    """Copies of the files in `folder`; secrets (`NAME_FILE`) are put into the environment instead, as `NAME`.

    Only the portal's own secrets are read: a `NAME` that begins with `PORTAL_` or that the clinics' files name.
    """

    def __init__(self) -> None:
        self.folder = scratch.new_folder("portal-files-")
        self._copied = {name: Path(os.environ[name]) for name in _COPIED if os.environ.get(name)}
        self._folder_of_secrets = os.environ.get(_SECRETS)
        self._given = set(os.environ)
        self._from_folder: set[str] = set()
        self._secrets = {
            name.removesuffix("_FILE"): Path(value)
            for name, value in os.environ.items()
            if name.endswith("_FILE") and name not in _COPIED and name.removesuffix("_FILE") not in os.environ
        }
        self._number = count()
        self._before: Path | None = None
        self._now: Path | None = None
        self._left_out: list[str] = []

    def read(self) -> bool:
        """Copy the files and return True if they are valid; if not, write every fault to stderr, one per line.

        A separate process checks them, so that the code as it is now is used.
        """
        folder = self.folder / str(next(self._number))
        try:
            is_good = self._read_into(folder)
        except _Unreadable as error:
            is_good = False
            log_lines.say("error", str(error))
        except OSError as error:  # such as a folder that can't be listed, or no room for the copies
            is_good = False
            log_lines.say("error", f"The settings' files can't be copied and checked: {error}")
        if not is_good:
            shutil.rmtree(folder, ignore_errors=True)
            return False
        *older, self._before, self._now = (self._before, self._now, folder)
        for old in filter(None, older):  # workers that are still ending use the previous one
            shutil.rmtree(old, ignore_errors=True)
        return True

    def _read_into(self, folder: Path) -> bool:
        """Copy the files there and check them; put their names and the secrets into the environment if they are valid."""
        taken = {name: str(_copy(source, folder / name)) for name, source in self._copied.items()}
        secrets = self._read_secrets()
        taken[KEPT] = ""
        before = self._secrets.keys() | self._from_folder
        without_secrets = {name: value for name, value in os.environ.items() if name not in before}
        is_good, left_out = self._check(folder, without_secrets | taken | secrets)
        kept: set[str] = set()
        # A dialect only if the file alone doesn't help: others may go on with the new one.
        for files_of in (_alone, _with_dialects):
            if running := [name for name in left_out if self._runs(name)]:
                log_lines.say("error", f"{', '.join(running)}: used as before, with the secrets as before")
                copies = Path(taken["PORTAL_TENANTS"])
                self._put_back(running, copies, files_of)
                kept.update(running)
                taken[KEPT] = "/".join(sorted(kept))
                as_before = _named_only_in(kept, copies)
                secrets = {name: text for name, text in secrets.items() if name not in as_before}
                is_good, left_out = self._check(folder, dict(os.environ) | taken | secrets)
        if ended := [name for name in left_out if self._runs(name)]:
            log_lines.say(
                "error", f"{', '.join(ended)}: can't go on beside what else was changed, so nothing is"
            )
            is_good = False
        if is_good:
            self._left_out = left_out
            self._from_folder |= secrets.keys() - self._secrets.keys()
            os.environ.update(taken | secrets)
        return is_good

    def _check(self, folder: Path, environment: dict[str, str]) -> tuple[bool, list[str]]:
        """Whether the portal can start with the copies in `folder`, and which tenants files it would leave out."""
        done = subprocess.run(
            [sys.executable, "-m", "portal", "check", "--settings"],
            cwd=_ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        faults = done.stderr
        for name, source in self._copied.items():
            faults = faults.replace(environment[name], str(source))
            faults = faults.replace(str(folder / name), str(source.parent))
        log_lines.say("error", faults)
        return done.returncode == 0, done.stdout.splitlines()

    def _runs(self, name: str) -> bool:
        """Whether the clinics of this tenants file have been served since the last reload."""
        return name not in self._left_out and (self._used / name).is_file()

    @property
    def _used(self) -> Path:
        """The folder with the copies of the tenants files in use."""
        return (self._now or self.folder) / "PORTAL_TENANTS" / self._copied["PORTAL_TENANTS"].name

    def _put_back(self, names: list[str], copies: Path, files_of: Callable[[Path], Iterable[str]]) -> None:
        """Put these tenants files as they were at the last reload in the place of their new versions."""
        for file in {file for name in names for file in files_of(self._used / name)}:
            (copies / file).parent.mkdir(parents=True, exist_ok=True)
            (copies / file).unlink(missing_ok=True)
            _copy_file(self._used / file, copies / file)

    def _read_secrets(self) -> dict[str, str]:
        """The portal's secrets that are in files; raises _Unreadable.

        Where each clinic has a file of its own in a folder, one whose secret can't be read is left out, and the others not.
        """
        named = {word for source in self._copied.values() for word in _words_of(source)}
        is_folder = self._copied.get("PORTAL_TENANTS", Path()).is_dir() and "PORTAL_TENANTS" in self._copied
        texts: dict[str, str] = {}
        for name, file in self._secrets.items():
            if name.startswith("PORTAL_") or name in named:
                try:
                    texts[name] = _secret(name, file)
                except _Unreadable as error:
                    if name.startswith("PORTAL_") or not is_folder:
                        raise
                    log_lines.say("error", str(error))
        return {name: text for name, text in texts.items() if text} | self._in_folder(
            named - self._secrets.keys()
        )

    def _in_folder(self, named: set[str]) -> dict[str, str]:
        """The secrets with these names that are in the folder of secrets; one that can't be read is its clinic's fault."""
        texts: dict[str, str] = {}
        for name in sorted(named - self._given):
            file = Path(self._folder_of_secrets or "", name)
            if self._folder_of_secrets and file.exists():
                try:
                    texts[name] = _secret(name, file)
                except _Unreadable as error:
                    log_lines.say("error", str(error).replace("_FILE", f" in {_SECRETS}", 1))
        return {name: text for name, text in texts.items() if text}


def would_start() -> bool:
    """Whether the portal would start with the settings' files as they are; if not, every fault is written to stderr."""
    before = dict(os.environ)
    files = SettingsFiles()
    try:
        return files.read()
    finally:
        shutil.rmtree(files.folder, ignore_errors=True)
        os.environ.update(before)


class _Unreadable(Exception):
    """A secret can't be read; the message says which variable and why, in one line."""


def _secret(name: str, file: Path) -> str:
    """Return the text of a secret's file; raise _Unreadable."""
    try:
        with file.open("rb") as opened:
            read = opened.read(_LARGEST_SECRET + 1)
        text = read.decode("utf-8").strip()
    except OSError as error:
        raise _Unreadable(f"{name}_FILE: {os.strerror(error.errno or 0)}") from None
    except UnicodeDecodeError:
        raise _Unreadable(f"{name}_FILE: the file isn't text in UTF-8") from None
    if len(read) > _LARGEST_SECRET or "\0" in text:
        raise _Unreadable(f"{name}_FILE: the file is too large for a secret, or holds a NUL")
    return text


def _words_of(source: Path) -> set[str]:
    """The names in a TOML file, or in those of a folder."""
    words: set[str] = set()
    for file in source.glob("*.toml") if source.is_dir() else [source]:
        with suppress(OSError):  # the check says so
            words.update(re.findall(r"\w+", file.read_bytes()[:_LARGEST_TEXT].decode("utf-8", "replace")))
    return words


def _named_only_in(files: set[str], folder: Path) -> set[str]:
    """The names in these files of a folder that no other file there has; the portal's own secrets aren't among them."""
    own, others = set[str](), set[str]()
    for file in folder.glob("*.toml"):
        (own if file.name in files else others).update(_words_of(file))
    return {name for name in own - others if not name.startswith("PORTAL_")}


def _copy(source: Path, folder: Path) -> Path:
    """Copy a folder, or a file with what stands beside it: dialects that it names, and consent templates; return the copy's
    path, even if there is none."""
    copy = folder / source.name
    if source.is_dir():
        shutil.copytree(source, copy, copy_function=_copy_file)
    elif source.is_file():
        folder.mkdir(parents=True)
        _copy_file(source, copy)
        for name in _dialects_of(source):
            if (beside := source.parent / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                _copy_file(beside, folder / name)
        if (beside := source.parent / "consent-templates").is_dir():
            shutil.copytree(beside, folder / beside.name, copy_function=_copy_file)
    return copy


def _copy_file(source: str | Path, copy: str | Path) -> None:
    """Copy a file; one that can't be read becomes a link to nothing, so that whoever wants it says so."""
    try:
        if not stat.S_ISREG(Path(source).stat().st_mode):
            raise OSError(errno.EINVAL, "Not a file")
        content = Path(source).read_bytes()
    except OSError as error:
        log_lines.say("error", f"{source}: {error.strerror}")
        Path(copy).symlink_to("/nonexistent")
    else:
        Path(copy).write_bytes(content)


def _alone(file: Path) -> list[str]:
    return [file.name]


def _with_dialects(file: Path) -> list[str]:
    return [file.name, *_dialects_of(file)]


def _dialects_of(source: Path) -> Iterator[str]:
    """The dialect files that a tenants file names, relative to it; what is wrong with it the check says."""
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    tenants = document.get("tenants")
    clinics = list(cast("dict[str, object]", tenants).values()) if isinstance(tenants, dict) else []
    for table in (document.get("care"), *clinics):
        name = cast("dict[str, object]", table).get("dialect") if isinstance(table, dict) else None
        if isinstance(name, str) and not Path(name).is_absolute():
            yield name
