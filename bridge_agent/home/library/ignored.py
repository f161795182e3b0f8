"""Names that a scan passes over: hidden ones, thumbnails of a NAS, recycle bins, unfinished downloads."""

from bridge_agent.home.library.kinds import extension_of
from bridge_agent.home.library.text import fold, word_set

IGNORE_FILE = ".ignore"

_UNFINISHED = word_set(
    ".part .partial .tmp .temp .tempfile .tempfile~ .crdownload .download .bak .old .!qb .!ut .aria2"
)
_FOLDERS = word_set(
    "#recycle @recycle $recycle.bin recycler recycled lost+found #snapshot @snapshot @recently-snapshot @tmp"
) | {"system volume information", "__macosx"}


def ignored_folder(name: str) -> bool:
    """Tell whether a folder is passed over with everything below it (A-80, A-81, A-85)."""
    return name.startswith(".") or "@eaDir" in name or fold(name) in _FOLDERS


def ignored_file(name: str) -> bool:
    """Tell whether a file is passed over (A-80, A-81, A-83)."""
    return name.startswith(".") or "@eaDir" in name or extension_of(name) in _UNFINISHED
