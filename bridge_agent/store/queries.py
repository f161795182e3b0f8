"""Named queries out of .sql files: `-- name: what it does` above each statement."""

import re
from importlib import resources

_HEAD = re.compile(r"^-- ([a-z_]+): .+$", re.MULTILINE)


class Queries:
    """The statements of one .sql file, by name: `queries["claim_next"]`."""

    def __init__(self, package: str, file: str) -> None:
        """Read a package's .sql file; raises FileNotFoundError, and ValueError for a name used twice."""
        text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
        self._by_name: dict[str, str] = {}
        heads = list(_HEAD.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            name = head[1]
            if name in self._by_name:
                raise ValueError(f"{file} names {name} twice")
            end = following.start() if following else len(text)
            self._by_name[name] = text[head.end() : end].strip()

    def __getitem__(self, name: str) -> str:
        return self._by_name[name]

    def __iter__(self) -> "object":
        return iter(self._by_name)

    @property
    def names(self) -> list[str]:
        """The names in the order of the file."""
        return list(self._by_name)
