"""Made audio: int16 PCM at 16 kHz from a seed or a formula, in seconds."""

import math
import random
from array import array

from bridge_agent.transcription.model import RATE


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * RATE))


def tone(seconds: float, hertz: float = 220.0, level: float = 0.3) -> bytes:
    samples = range(round(seconds * RATE))
    return array(
        "h", (int(32767 * level * math.sin(2 * math.pi * hertz * n / RATE)) for n in samples)
    ).tobytes()


def noise(seconds: float, level: float = 0.01, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    most = int(32767 * level)
    return array("h", (chance.randint(-most, most) for _ in range(round(seconds * RATE)))).tobytes()


def hum(seconds: float) -> bytes:
    """Mains hum: 50 Hz with its overtones."""
    samples = range(round(seconds * RATE))
    turn = 2 * math.pi * 50 / RATE
    return array(
        "h",
        (
            int(2000 * (math.sin(turn * n) + 0.5 * math.sin(3 * turn * n) + 0.2 * math.sin(5 * turn * n)))
            for n in samples
        ),
    ).tobytes()


def music(seconds: float) -> bytes:
    """Chords of decaying partials, one every half second."""
    chords = [(261.6, 329.6, 392.0), (220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (196.0, 246.9, 293.7)]
    out = array("h")
    for beat in range(math.ceil(seconds * 2)):
        chord = chords[beat // 2 % 4]
        for n in range(RATE // 2):
            fade = math.exp(-3.0 * n / RATE)
            value = sum(
                math.sin(2 * math.pi * note * part * n / RATE) / part for note in chord for part in (1, 2, 3)
            )
            out.append(int(3500 * fade * value))
    return out[: round(seconds * RATE)].tobytes()


def babble(seconds: float, seed: int = 1) -> bytes:
    """Loud noise in stretches of 3 s with pauses of 0.5 s: speech, as the scripted engine takes it."""
    chance = random.Random(seed)
    out = array("h")
    for n in range(round(seconds * RATE)):
        out.append(chance.randint(-8000, 8000) if n % (7 * RATE // 2) < 3 * RATE else 0)
    return out.tobytes()
