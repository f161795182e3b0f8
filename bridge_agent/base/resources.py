"""Where templates and static files lie: in the wheel, or beside the package in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def folder(name: str) -> Path:
    """Return the folder `templates` or `static`, wherever this installation keeps it.

    Raises FileNotFoundError when the installation is damaged.
    """
    for place in (_PACKAGE / f"_{name}", _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the folder {name} is missing from this installation; install it again")
