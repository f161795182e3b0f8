"""A browser's name for people, out of what it says of itself."""

_BROWSERS = (
    ("Firefox/", "Firefox"),
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("CrOS", "a Chromebook"),
    ("Linux", "Linux"),
)


def browser_name(agent: str) -> str:
    """Return `Firefox on Linux` for a User-Agent; other programs keep the first word they say."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    if browser is None:
        return agent.partition("/")[0][:60] or "A device without a name"
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    return f"{browser} on {system}" if system else browser


def device_name(name: str) -> str:
    """Return a device's name as a list shows it: what its owner called it, or its browser's name."""
    return browser_name(name) if name.startswith("Mozilla/") else name or "A device without a name"
