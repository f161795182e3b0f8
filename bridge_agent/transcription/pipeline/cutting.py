"""Cutting: parts as FLAC files just ahead of need, one file of the book open at a time."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.errors import AudioError
from bridge_agent.transcription.model import Part, Plan
from bridge_agent.transcription.pipeline.order import SourceFile
from bridge_agent.transcription.pipeline.reading import Decoder


class Cutting:
    """Cuts a plan's parts one by one, in whatever order they are asked for; in order it is quick.

    A file that is read stays open at its place while nobody asks for the next part.
    """

    def __init__(self, decoder: Decoder, plan: Plan, files: Sequence[SourceFile], folder: Path) -> None:
        self._decoder = decoder
        self._plan = plan
        self._files = files
        self._folder = folder
        self._stream: AsyncIterator[tuple[Part, CutFile]] | None = None
        self._expected: list[int] = []

    def path(self, number: int) -> Path:
        """Return where a part's audio lies when it is cut."""
        return self._folder / f"{number}.flac"

    async def cut(self, number: int, wanted: Sequence[int]) -> CutFile:
        """Cut one part; `wanted` are the numbers of those that will be asked for, this one among them.

        Raises as the decoder's `cut`: AudioAway, AudioChanged, AudioUnreadable, NoRoom, DecoderDied.
        """
        if self._stream is None or self._expected[:1] != [number]:
            await self._open(number, wanted)
        stream = self._stream
        assert stream is not None
        try:
            _, cut = await anext(stream)
        except BaseException:
            await self.close()
            raise
        self._expected.pop(0)
        if not self._expected:
            await self._end()
        return cut

    async def close(self) -> None:
        """Stop reading; harmless when repeated."""
        stream, self._stream, self._expected = self._stream, None, []
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()

    async def _end(self) -> None:
        """Let the decoder come to its own end, so that its process is used again."""
        stream, self._stream = self._stream, None
        with contextlib.suppress(StopAsyncIteration, AudioError):
            if stream is not None:
                await anext(stream)

    async def _open(self, number: int, wanted: Sequence[int]) -> None:
        await self.close()
        parts = self._plan.parts
        file = parts[number].file
        following = [parts[n] for n in sorted({*wanted, number}) if n >= number and parts[n].file == file]
        following.sort(key=lambda part: (part.start, part.number))
        self._expected = [part.number for part in following]
        self._stream = self._decoder.cut(
            self._files[file].path, following, lambda part: self.path(part.number), 0
        )
