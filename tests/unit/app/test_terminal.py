"""What `bridge-agent status` says in lines."""

from bridge_agent.app.terminal import status_lines
from bridge_agent.base.clock import from_text

HEARD = "2026-01-01T11:00:00.123Z"
LINK = {
    "state": "online",
    "reason": None,
    "server_name": "Home",
    "server_url": "http://home:13390",
    "last_heartbeat_at": HEARD,
    "next_try_at": None,
    "online": True,
}
JOB = {
    "kind": "bridge.verify",
    "path": "A/B",
    "progress": {"message": "Holding, as asked"},
    "state": "running",
}


WORKERS = {"workers": [], "problem": None, "model": None}


def library(root, path):
    return {"library_id": 1, "name": "Books", "root": root, "path": path, "ok": True, "error": None}


def lines(libraries=(), running=()):
    told = {"link": LINK, "libraries": libraries, "jobs": {"running": running}}
    return list(status_lines(told, WORKERS))


def test_times_are_those_of_this_machine():
    local = from_text(HEARD).astimezone()
    assert f"Last heard from it: {local:%Y-%m-%d %H:%M:%S}" in lines()


def test_a_library_is_called_by_its_name_and_its_place_here():
    assert "✓ Library “Books”: /srv/books is /mnt/books here" in lines([library("/srv/books", "/mnt/books")])
    assert "✓ Library “Books”: at /srv/books" in lines([library("/srv/books", "/srv/books")])


def test_workers_that_are_kept_out_come_with_the_reason():
    status = {"link": LINK, "libraries": [], "jobs": {"running": []}}
    off = {**WORKERS, "problem": "The port is taken; choose another."}
    said = "✕ Workers can’t reach this Bridge: The port is taken; choose another."
    assert said in status_lines(status, off)
    assert not [line for line in status_lines(status, WORKERS) if "Workers" in line]


def test_what_runs_is_said_in_words():
    assert lines(running=[JOB])[-1] == "● Verifying A/B: Holding, as asked"
    assert lines()[-1] == "No job is running."


def test_a_job_that_waits_for_a_person_says_for_what():
    waits = {**JOB, "state": "needs_attention", "error": "Connect the drive; then it goes on."}
    assert lines(running=[waits])[-1] == "! Verifying A/B: Needs you: Connect the drive; then it goes on."
