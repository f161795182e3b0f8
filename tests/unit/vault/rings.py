"""Keyrings that behave as keyrings do: well, locked, hanging, broken, forgetful, late."""

import threading

NAME = "keyring.backends.SecretService.Keyring"


class FakeRing:
    """A keyring in memory; `mood` decides how it answers."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}
        self.mood = "fine"
        self.release = threading.Event()
        self.threads: set[str] = set()
        self.trials = 0

    def _answer(self) -> None:
        self.threads.add(threading.current_thread().name)
        if self.mood == "hangs":
            self.release.wait(20)
        elif self.mood == "locked":
            raise RuntimeError("the collection is locked")

    def get_password(self, service: str, username: str) -> str | None:
        self._answer()
        if self.mood == "forgetful":
            return None
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._answer()
        self.trials += username.startswith("trial-")
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._answer()
        del self.entries[service, username]


class FakeRings:
    """Where the vault finds it; `missing` is what finding it raises."""

    def __init__(self, ring: FakeRing) -> None:
        self.ring = ring
        self.missing: Exception | None = None

    def best(self) -> tuple[str, FakeRing]:
        if self.missing is not None:
            raise self.missing
        return NAME, self.ring

    def named(self, name: str) -> FakeRing:
        assert name == NAME
        if self.missing is not None:
            raise self.missing
        return self.ring
