"""The form of an upload: text fields first, then one file, which is streamed; anything else is refused."""

import re
from collections.abc import AsyncIterator
from pathlib import PurePosixPath
from typing import Any

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from bridge_agent.worker_api.coordinator_v1 import bodies
from bridge_agent.worker_api.coordinator_v1.answers import Disabled
from bridge_agent.worker_api.uploads.intake import DEFAULT_ROWS, Form, Upload
from bridge_agent.worker_api.uploads.refusals import Invalid, TooLarge
from bridge_agent.worker_api.uploads.speech import check_parameters
from bridge_agent.worker_api.workloads.catalogue import CATALOGUE, TRANSCRIBE, BadParameters

FILE_NAMES = ("file", "dataset")
_TEXTS = {"workload": 1 << 10, "parameters": 64 << 10, "chunk_rows": 64, "max_rows": 64}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_PIECE = 1 << 18
# What the library raises over a form that is none.
_BROKEN = (ValueError, AssertionError, HttpProcessingError)
_NAME_CHARACTERS = 255


class FormReader:
    """Reads one upload's form part by part."""

    def __init__(self, request: web.Request, most_bytes: int, speech: bool) -> None:
        """Take a request; raises Invalid where it is no form, TooLarge where it says that it is too large."""
        if (request.content_length or 0) > most_bytes:
            raise TooLarge
        if request.content_type != "multipart/form-data":
            raise Invalid("An upload is a multipart form.")
        self._request = request
        self._most_bytes = most_bytes
        self._speech = speech
        self._texts: dict[str, str] = {}
        self._reader: MultipartReader | None = None

    async def to_the_file(self) -> tuple[Form, Upload]:
        """Read the text fields; return them with the file that follows. Raises Invalid."""
        try:
            self._reader = await self._request.multipart()
            while (part := await self._reader.next()) is not None:
                if not isinstance(part, BodyPartReader):
                    raise Invalid("A form has no forms in it.")
                if part.name in FILE_NAMES:
                    return self._form(), self._upload(part)
                await self._text(part)
        except _BROKEN as error:
            raise Invalid("The form can’t be read.") from error
        raise Invalid("The form has no file.")

    async def _text(self, part: BodyPartReader) -> None:
        name = part.name or ""
        if name not in _TEXTS or name in self._texts:
            raise Invalid(f"The field “{name[:100]}” is unknown, or there twice.")
        raw = bytearray()
        while piece := await part.read_chunk(1 << 12):
            raw += piece
            if len(raw) > _TEXTS[name]:
                raise Invalid(f"The field “{name}” is too long.")
        self._texts[name] = raw.decode("utf-8", "replace").strip()

    def _form(self) -> Form:
        name = self._texts.get("workload", "")
        workload = CATALOGUE.get(name)
        if workload is None:
            raise Invalid("The workload is missing or unknown.")
        if workload.name == TRANSCRIBE and not self._speech:
            raise Disabled
        try:
            parameters = workload.parameters(_parameters(self._texts.get("parameters", "")))
        except BadParameters as bad:
            raise Invalid(f"The parameters are not the workload’s: {bad}.") from bad
        if workload.name == TRANSCRIBE:
            check_parameters(parameters)
        rows = _number(self._texts["chunk_rows"]) if "chunk_rows" in self._texts else DEFAULT_ROWS
        most = _number(self._texts["max_rows"]) if "max_rows" in self._texts else None
        return Form(workload=workload, parameters=parameters, chunk_rows=rows, max_rows=most)

    def _upload(self, part: BodyPartReader) -> Upload:
        name = PurePosixPath((part.filename or "").replace("\\", "/")).name
        shown = "".join(letter for letter in name if letter.isprintable())[:_NAME_CHARACTERS]
        kind = content_type(part.headers.get("Content-Type"))
        return Upload(shown or "upload", kind, self._pieces(part), self._end)

    async def _pieces(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        size = 0
        try:
            while piece := await part.read_chunk(_PIECE):
                size += len(piece)
                if size > self._most_bytes:
                    raise TooLarge
                yield bytes(piece)
        except _BROKEN as error:
            raise Invalid("The form can’t be read to its end.") from error

    async def _end(self) -> None:
        """Raise Invalid where anything follows the file: nothing of it is kept then."""
        try:
            more = None if self._reader is None else await self._reader.next()
        except _BROKEN as error:
            raise Invalid("The form can’t be read to its end.") from error
        if more is not None:
            raise Invalid("Nothing may follow the file.")


def content_type(said: str | None) -> str:
    """Return a type as it was said, where it is one that can be said again."""
    kind = (said or "").strip()
    return kind if kind and kind.isascii() and kind.isprintable() else "application/octet-stream"


def _parameters(text: str) -> dict[str, Any]:
    if not text:
        return {}
    found = bodies.plain(bodies.parse(text.encode()))
    if not isinstance(found, dict):
        raise Invalid("The parameters are no object.")
    return found


def _number(text: str) -> int:
    if not _NUMBER.match(text) or int(text) < 1:
        raise Invalid("A number of rows is a whole number of at least 1.")
    return int(text)
