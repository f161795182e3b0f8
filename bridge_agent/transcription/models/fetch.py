"""The downloading child: `python -m bridge_agent.transcription.models.fetch`, an Order as JSON on its input.

It writes one JSON line for each step of its way (`Step`), and ends with its parent. It alone knows the hub.
"""

import hashlib
import json
import os
import shutil
import ssl
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import msgspec

from bridge_agent.base import files
from bridge_agent.transcription.model import Value
from bridge_agent.transcription.models import catalogue
from bridge_agent.transcription.models.folders import MANIFEST, KeptFile, Manifest

PARTIAL = ".partial"
_SECONDS = 30.0
_BLOCK = 256 * 1024
_SPARE = 64 * 1024 * 1024
_FIRST_PAUSE = 1.0


class Order(Value, frozen=True):
    """What to download: a repository of a hub, into `folder` (made by a rename when it is whole)."""

    hub: str
    repository: str
    folder: str
    ca_file: str = ""
    tries: int = 6
    pause: float = _FIRST_PAUSE


class Step(Value, frozen=True):
    """How far it is, in bytes; or at last whether it is `whole`, or what is wrong (`error`).

    `trouble` is why it is tried again just now; `later` tells of an error that waiting may mend.
    """

    done: int = 0
    total: int = 0
    whole: bool = False
    error: str = ""
    trouble: str = ""
    later: bool = False


class Failed(Exception):
    """Trying again at once will not help; holds the sentence, and whether it may `later`."""

    def __init__(self, sentence: str, *, later: bool = False) -> None:
        super().__init__(sentence)
        self.later = later


class Dropped(Exception):
    """The connection broke or the server was busy: go on from where it was."""


class HubFile(Value, frozen=True):
    """A file as the hub describes it: the hash is SHA-256 for large files, and Git's for small ones."""

    name: str
    size: int
    sha256: str
    git: str


class _HttpsStaysHttps(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise Failed(
                "The hub sends on to an address without TLS, which is not followed; try again later.",
                later=True,
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Hub:
    """A hub of models that speaks Hugging Face's routes."""

    def __init__(self, order: Order) -> None:
        self._order = order
        context = ssl.create_default_context()
        if order.ca_file:
            context.load_verify_locations(order.ca_file)
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), _HttpsStaysHttps()
        )

    def listing(self) -> tuple[str, list[HubFile]]:
        """Return the newest revision and the files a model needs; raises Failed, Dropped."""
        repository = urllib.parse.quote(self._order.repository)
        address = f"{self._order.hub}/api/models/{repository}/revision/main?blobs=true"
        with self._open(address, 0) as response:
            raw = _body(response)
        try:
            read = json.loads(raw)
            found = [_hub_file(each) for each in read["siblings"] if catalogue.wanted(each["rfilename"])]
            revision = str(read["sha"])
        except (ValueError, KeyError, TypeError) as error:
            raise Failed(
                f"The hub at {self._order.hub} answers something else than a model's files; "
                "check the way to it, or set BRIDGE_SPEECH_MODEL to a folder."
            ) from error
        if "model.bin" not in {each.name for each in found}:
            raise Failed(f"The hub's {self._order.repository} holds no model.bin; choose another model.")
        return revision, found

    def read(self, file: HubFile, revision: str, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield a file's bytes with their place, from `start` where the server can; may raise."""
        repository, name = urllib.parse.quote(self._order.repository), urllib.parse.quote(file.name)
        address = f"{self._order.hub}/{repository}/resolve/{revision}/{name}"
        with self._open(address, start) as response:
            place = _begins_at(response, start)
            while True:
                try:
                    block = response.read(_BLOCK)
                except (OSError, HTTPException) as error:
                    raise Dropped(str(error)) from error
                if not block:
                    return
                yield place, block
                place += len(block)

    def _open(self, address: str, start: int) -> HTTPResponse:
        headers = {"User-Agent": "audiobook-bridge-agent", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        request = urllib.request.Request(address, headers=headers)
        try:
            response: HTTPResponse = self._opener.open(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                raise _status(error.code, self._order) from error
        except (OSError, HTTPException) as error:
            raise Dropped(str(getattr(error, "reason", error))) from error
        return response


def _status(code: int, order: Order) -> Exception:
    if code in (408, 425, 429) or code >= 500:
        return Dropped(f"status {code}")
    if code == 416:
        return Dropped("range")
    if code in (401, 403, 404):
        return Failed(
            f"The hub at {order.hub} has no model {order.repository} to give (status {code}); "
            "choose another model, or set BRIDGE_SPEECH_MODEL to a folder."
        )
    return Failed(
        f"The hub at {order.hub} refuses the download (status {code}); try again later.", later=True
    )


def _body(response: HTTPResponse) -> bytes:
    try:
        return response.read(16 * 1024 * 1024)
    except (OSError, HTTPException) as error:
        raise Dropped(str(error)) from error


def _begins_at(response: HTTPResponse, start: int) -> int:
    if response.status != 206:
        return 0
    place = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    if place != str(start):
        raise Dropped("another range than was asked for")
    return start


def _hub_file(found: dict[str, Any]) -> HubFile:
    lfs = found.get("lfs") or {}
    sha256 = str(lfs.get("sha256") or lfs.get("oid") or "").removeprefix("sha256:")
    size = int(lfs.get("size") or found["size"])
    return HubFile(name=found["rfilename"], size=size, sha256=sha256, git=str(found.get("blobId") or ""))


class Download:
    """One model on its way from a hub into its folder."""

    def __init__(self, order: Order, say: Callable[[Step], None], wait: Callable[[float], object]) -> None:
        self._order = order
        self._say = say
        self._wait = wait
        self._hub = Hub(order)
        self._folder = Path(order.folder)
        self._aside = self._folder.with_name(self._folder.name + PARTIAL)
        self._whole = 0
        self._total = 0
        self._said = -1

    def run(self) -> None:
        """Download what is missing and put the folder in its place; raises Failed."""
        revision, found = self._patiently(self._hub.listing, "The hub can't be reached")
        self._aside.mkdir(parents=True, exist_ok=True)
        self._total = sum(file.size for file in found)
        self._need_room(self._total - sum(self._have(file) for file in found))
        kept = []
        for file in found:
            self._fetch(file, revision)
            self._whole += file.size
            kept.append(KeptFile(name=file.name, size=file.size, sha256=file.sha256))
        self._finish(Manifest(repository=self._order.repository, revision=revision, files=tuple(kept)))

    def _fetch(self, file: HubFile, revision: str) -> None:
        target = self._aside / file.name
        if target.is_file() and target.stat().st_size == file.size and right(target, file):
            self._progress(file.size)
            return
        target.unlink(missing_ok=True)
        partial = self._aside / (file.name + PARTIAL)
        for _ in range(2):
            self._patiently(lambda: self._append(file, revision, partial), "The download broke off")
            if right(partial, file):
                partial.replace(target)
                return
            # What was kept of an earlier try may be at fault: once more, from nothing.
            partial.unlink()
        raise Failed(
            f"The file {file.name} of {self._order.repository} came damaged twice (its checksum is wrong); "
            "try again later.",
            later=True,
        )

    def _append(self, file: HubFile, revision: str, partial: Path) -> None:
        have = partial.stat().st_size if partial.is_file() else 0
        if have > file.size:
            partial.unlink()
            have = 0
        if have < file.size or not partial.exists():
            self._copy(file, revision, partial, have)
        size = partial.stat().st_size
        if size > file.size:
            partial.unlink()
            raise Dropped(f"{file.name} came with more bytes than the hub names")
        if size < file.size:
            raise Dropped(f"{file.name} ended early")

    def _copy(self, file: HubFile, revision: str, partial: Path, have: int) -> None:
        with partial.open("ab") as out:
            try:
                for place, block in self._hub.read(file, revision, have):
                    if place == 0 and out.tell():
                        # The server knows no ranges: all over again.
                        out.truncate(0)
                    out.write(block)
                    self._progress(place + len(block))
                    if place + len(block) > file.size:
                        break
            except OSError as error:
                raise Failed(f"The model can't be written ({error.strerror}); free some space.") from error
            out.flush()
            os.fsync(out.fileno())

    def _patiently(self, work: Callable[[], Any], what: str) -> Any:  # noqa: ANN401
        """Try again after a pause that grows, as long as tries without any new byte are not used up."""
        tries, best = 0, self._bytes()
        while True:
            try:
                return work()
            except Dropped as error:
                if (now := self._bytes()) > best:
                    tries, best = 0, now
                tries += 1
                if tries >= self._order.tries:
                    raise Failed(
                        f"{what} ({error}); what has come is kept: check this machine's way to "
                        f"{self._order.hub} and try again, or set BRIDGE_SPEECH_MODEL to a folder.",
                        later=True,
                    ) from error
                if tries == 1:
                    self._say(Step(done=now, total=self._total, trouble=f"{what} ({error})"))
            self._wait(min(30.0, self._order.pause * 2.0 ** (tries - 1)))

    def _bytes(self) -> int:
        if not self._aside.is_dir():
            return 0
        return sum(each.stat().st_size for each in self._aside.iterdir() if each.is_file())

    def _have(self, file: HubFile) -> int:
        for name in (file.name, file.name + PARTIAL):
            if (self._aside / name).is_file():
                return (self._aside / name).stat().st_size
        return 0

    def _need_room(self, size: int) -> None:
        free = shutil.disk_usage(self._aside).free
        if size + _SPARE > free:
            raise Failed(
                f"The model needs {(size >> 20) + 1} MiB more, but only {free >> 20} MiB are free at "
                f"{self._folder.parent}; free some space."
            )

    def _progress(self, done: int) -> None:
        now = self._whole + done
        if abs(now - self._said) >= _BLOCK or now == self._total:
            self._said = now
            self._say(Step(done=now, total=self._total))

    def _finish(self, manifest: Manifest) -> None:
        files.write_private(self._aside / MANIFEST, msgspec.json.encode(manifest))
        if self._folder.exists():
            shutil.rmtree(self._folder)
        self._aside.replace(self._folder)
        files.sync_folder(self._folder.parent)


def right(path: Path, file: HubFile) -> bool:
    """Tell whether a file's size and checksum are the hub's (one without any is judged by its size)."""
    size = path.stat().st_size
    if size != file.size:
        return False
    if file.sha256:
        return _digest(path, hashlib.sha256()) == file.sha256.lower()
    if file.git:
        # Git's own name for a file: SHA-1 over a head and the content.
        return _digest(path, hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)) == file.git
    return True


def _digest(path: Path, digest: "hashlib._Hash") -> str:
    with path.open("rb") as source:
        while block := source.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _say(step: Step) -> None:
    sys.stdout.write(msgspec.json.encode(step).decode() + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Read the order and carry it out."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        Download(order, _say, threading.Event().wait).run()
    except Failed as error:
        _say(Step(error=str(error), later=error.later))
    except OSError as error:
        _say(
            Step(
                error=f"The model can't be written to {Path(order.folder).parent} "
                f"({error.strerror}); check that folder."
            )
        )
    else:
        _say(Step(whole=True))


if __name__ == "__main__":
    main()
