"""The sign that there is no work: born of one poll's answer, known by meaning, never taken for a failure."""


class NoWork(Exception):
    """The store has no task for the poll that asked; layers between may explain it with `raise … from`."""

    def __init__(self, poll: "Poll") -> None:
        super().__init__("there is no work in this state now")
        self.poll = poll


class Poll:
    """One asking for work. Only the store's answer to it makes its sign (P-004).

    The sign is found at any depth of explanations (`__cause__`), not in what merely happened to be handled
    when another error was raised (`__context__`); and the sign of another poll says nothing to this one, so
    that an error which grew out of somebody else's empty answer is a failure (P-005).
    """

    def nothing(self) -> NoWork:
        """Return the sign; for the store alone to raise."""
        return NoWork(self)

    def found_nothing(self, error: BaseException) -> bool:
        """Tell whether an error means that this poll found no work, whatever was said around it."""
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, NoWork) and seen.poll is self:
                return True
            seen = seen.__cause__
        return False
