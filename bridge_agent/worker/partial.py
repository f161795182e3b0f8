"""What an engine heard, as the partial that travels: in seconds that give back each sample exactly."""

import hashlib

import msgspec

from bridge_agent.protocol import coordinator as wire
from bridge_agent.protocol.coordinator import SpeechParameters
from bridge_agent.transcription.engines.base import Context, Heard
from bridge_agent.transcription.model import RATE, EngineInfo, Segment


def context(parameters: SpeechParameters, sha256: str) -> Context:
    """Return how a part is to be heard, with this worker's own model."""
    named = parameters.hints or [name.strip() for name in parameters.prompt.replace("\n", ",").split(",")]
    return Context(
        language=parameters.language or None,
        quality="accurate" if parameters.quality == "accurate" else "balanced",
        word_timestamps=parameters.word_timestamps,
        hints=tuple(dict.fromkeys(filter(None, named))),
        seed=int(sha256[:8], 16) if parameters.seed is None else parameters.seed,
    )


def key(sha256: str, context: Context, engine: EngineInfo) -> str:
    """Return what a partial follows from: equal keys, equal partials."""
    parts = (
        sha256.lower().encode(),
        *(msgspec.json.encode(each, order="sorted") for each in (context, engine)),
    )
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def write(heard: Heard) -> bytes:
    """Return the partial's bytes."""
    engine = heard.engine
    return msgspec.json.encode(
        wire.Partial(
            segments=[_segment(segment) for segment in heard.segments],
            language=heard.language,
            engine=wire.PartialEngine(
                name=engine.name,
                model=engine.model,
                device=engine.device,
                compute_type=engine.compute_type,
                version=engine.version,
            ),
            flags=list(heard.flags),
            speech_seconds=heard.speech_samples / RATE,
        )
    )


def _segment(segment: Segment) -> wire.PartialSegment:
    return wire.PartialSegment(
        start=segment.start / RATE,
        end=segment.end / RATE,
        text=segment.text,
        avg_logprob=segment.avg_logprob,
        no_speech_prob=segment.no_speech_prob,
        words=[
            wire.PartialWord(
                start=word.start / RATE, end=word.end / RATE, word=word.text, probability=word.probability
            )
            for word in segment.words
        ],
        compression_ratio=segment.compression_ratio,
        temperature=segment.temperature,
    )
