"""What can go wrong with audio, as its callers and people see it."""

from bridge_agent.base.errors import BridgeError


class AudioError(BridgeError):
    """The audio can't be read; look at the log for why."""

    code = "audio_error"


class AudioFailed(AudioError):
    """The audio decoder failed in a way nobody thought of; look at the log for what it said."""

    code = "audio_failed"


class DecoderUnavailable(AudioError):
    """There is no audio decoder here; install it with pip install 'audiobook-bridge-agent[speech]'."""

    code = "decoder_unavailable"


class AudioAway(AudioError):
    """The book's files don't answer; check that the drive they are on is connected."""

    code = "audio_away"


class AudioChanged(AudioError):
    """An audio file changed while it was being transcribed; start the transcription again."""

    code = "audio_changed"


class AudioUnreadable(AudioError):
    """An audio file can't be decoded; check that it plays, and replace it if not."""

    code = "audio_unreadable"


class DecoderDied(AudioError):
    """The audio decoder's process was ended from outside; free some memory and try again."""

    code = "decoder_died"


class NoRoom(AudioError):
    """The cut audio can't be written; free some room on the disk of the Bridge's data folder."""

    code = "no_room"


class Stopped(Exception):
    """Nobody wants the result any more."""
