"""Transcripts in a few lines, and any that hypothesis can think of."""

from collections.abc import Sequence

from hypothesis import strategies as st

from bridge_agent.transcription.assembly.transcript import (
    Chapter,
    Engine,
    File,
    Gap,
    Segment,
    Transcript,
    Word,
)

ENGINE = Engine(name="scripted", model="base", compute_type="int8")


def transcript(
    segments: Sequence[Segment], duration: float, chapters: Sequence[float] = (0.0,), gaps: Sequence[Gap] = ()
) -> Transcript:
    ends = [*chapters[1:], duration]
    return Transcript(
        title="Book",
        author="Author",
        language="en",
        duration=duration,
        engine=ENGINE,
        files=(File(path="a.mp3", start=0.0, duration=duration),),
        chapters=tuple(
            Chapter(title=f"Chapter {n}", start=start, end=end, source="file")
            for n, (start, end) in enumerate(zip(chapters, ends, strict=True), start=1)
        ),
        segments=tuple(segments),
        gaps=tuple(gaps),
    )


def segment(number: int, words: Sequence[tuple[float, float, str]], chapter: int = 0, timed: bool = True):
    return Segment(
        id=number,
        file=0,
        chapter=chapter,
        start=words[0][0],
        end=words[-1][1],
        text="".join(word for _, _, word in words).strip(),
        avg_logprob=-0.1,
        no_speech_prob=0.0,
        flags=(),
        words=tuple(Word(start=s, end=e, word=w, probability=0.9) for s, e, w in words) if timed else (),
    )


def spoken(text: str, start: float = 0.0, each: float = 0.35, pause: float = 0.4):
    """Return (start, end, word) for a text read aloud: a pause after each full stop."""
    found, at = [], start
    for word in text.split():
        found.append((round(at, 3), round(at + each, 3), f" {word}"))
        at += each + (pause if word[-1] in ".?!" else 0.0)
    return found


def book(text: str, **given) -> Transcript:
    words = spoken(text)
    return transcript([segment(0, words, timed=given.pop("timed", True))], words[-1][1] + 1, **given)


_TEXTS = st.one_of(
    st.sampled_from(["a", "the", "word", "end.", "so,", "Yes!", "--", "-->", "<b>", "&amp;", "“Oh?”"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
    st.sampled_from(["東", "京都", "に。", "「行", "ภาษา", "ไทย", "x" * 60, "東" * 50]),
)
_SPACE = st.sampled_from([" ", " ", " ", ""])
_STEP = st.sampled_from([0, 0, 1, 20, 80, 200, 350, 350, 900, 2500, 9000])


@st.composite
def transcripts(draw) -> Transcript:
    """Transcripts with odd words, no pauses and long ones, chapters, gaps, words timed or not."""
    at, segments, timed = 0, [], draw(st.booleans())
    for number in range(draw(st.integers(0, 5))):
        words = []
        for _ in range(draw(st.integers(1, 14))):
            at += draw(_STEP)
            length = draw(_STEP)
            words.append((at / 1000, (at + length) / 1000, draw(_SPACE) + draw(_TEXTS)))
            at += length
        words = [w for w in words if w[2].strip()] or [(at / 1000, at / 1000, " hm")]
        segments.append(segment(number, words, timed=timed))
    duration = at + draw(st.integers(1, 5000))
    starts = sorted({0, *draw(st.lists(st.integers(1, duration), max_size=3))} - {duration})
    gaps = [
        Gap(start=s / 1000, end=min(duration, s + draw(_STEP)) / 1000, reason="damaged")
        for s in draw(st.lists(st.integers(0, duration), max_size=2).map(sorted))
    ]
    return transcript(segments, duration / 1000, [s / 1000 for s in starts], gaps)
