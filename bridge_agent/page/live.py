"""What keeps open pages up to date: gathers the rooms' news, publishes `status`, `job`, `worker` events."""

import asyncio
from typing import Any

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.page import status
from bridge_agent.page.parts import Parts
from bridge_agent.web.events import EventHub

Key = tuple[str, int, int]

SPACING_S = 0.25
"""Changes within one state are merged for this long; a new state goes out at once."""
REPEAT_S = 15.0
"""An open page that hears nothing for much longer knows that the Bridge has stopped."""


class Live:
    """Listens to link, jobs and mappings, and publishes for the event streams."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._clock: Clock = parts.clock
        self._hub: EventHub = parts.events
        self._tasks = Tasks("page")
        self._news = asyncio.Event()
        self._waiting: dict[Key, dict[str, Any]] = {}
        self._states: dict[Key, str] = {}
        self._workers: dict[int, dict[str, Any]] = {}

    def start(self) -> None:
        """Begin to listen; the rooms have to be open."""
        rooms = self._parts.rooms()
        rooms.link.listeners.append(self)
        rooms.jobs.on_change = self.job_changed
        rooms.mappings.on_change = self.changed
        if self._parts.speech is not None:
            self._parts.speech.pipeline.on_change = self.changed
        if self._parts.workers is not None:
            self._parts.workers.service.on_change = self.changed
            self._workers = self._workers_now()
        self._tasks.spawn(self._run(), "live")

    async def stop(self) -> None:
        """End the loop and all streams."""
        self._hub.close()
        await self._tasks.cancel()

    def link_ready(self, server_id: str) -> None:
        """Take note that the link works."""
        self.changed()

    def link_down(self, why: str) -> None:
        """Take note that the link was refused or undone."""
        self.changed()

    def link_changed(self) -> None:
        """Take note that something of the link looks different."""
        self.changed()

    def changed(self, *_: object) -> None:
        """Take note that the status looks different."""
        self._news.set()

    def job_changed(self, job: dict[str, Any]) -> None:
        """Publish a job's new state at once; a change within its state waits for the next round."""
        key: Key = (job["server_id"], job["job_id"], job["attempt"])
        if self._states.get(key) != job["state"]:
            self._waiting.pop(key, None)
            self._publish_job(key, job)
        else:
            self._waiting[key] = job
        self._news.set()

    def greeting(self) -> list[tuple[str, object]]:
        """Return what a stream begins with: the whole state."""
        return [("status", status.wire(self._parts))]

    def _publish_job(self, key: Key, job: dict[str, Any]) -> None:
        if job["finished_at"] is None:
            self._states[key] = job["state"]
        else:
            self._states.pop(key, None)
        self._hub.publish("job", job)

    def _publish_workers(self) -> None:
        """Publish each worker that looks different from what was told last; one that is gone as `revoked`."""
        before, self._workers = self._workers, self._workers_now()
        for id_, worker in self._workers.items():
            if before.get(id_) != worker:
                self._hub.publish("worker", worker)
        for id_, worker in before.items():
            if id_ not in self._workers:
                self._hub.publish("worker", {**worker, "state": "revoked", "on": []})

    def _workers_now(self) -> dict[int, dict[str, Any]]:
        workers = self._parts.workers
        return {} if workers is None else {each["id"]: each for each in status.workers_wire(workers)}

    async def _run(self) -> None:
        while True:
            changed = await self._clock.wait(self._news, REPEAT_S)
            self._news.clear()
            waiting, self._waiting = self._waiting, {}
            for key, job in waiting.items():
                self._publish_job(key, job)
            if self._hub.listeners:
                self._publish_workers()
            if changed or self._hub.listeners:
                self._hub.publish("status", status.wire(self._parts))
            await self._clock.sleep(SPACING_S)
