"""The two objects of this wire, job and source; what is absent is left out, never null."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from bridge_agent.worker_api.service.lease import Lease
from bridge_agent.worker_api.transcription_v1 import ids
from bridge_agent.worker_api.transcription_v1.addresses import without_bot_token

CHAT = "bridge"
LEGACY = "legacy"
_MIME = "audio/flac"

SourceUrl = Callable[[Lease], str | None]
"""Makes the address of a lease's audio."""


class Left(NamedTuple):
    """How and when a job left its worker's hands."""

    status: Literal["completed", "queued_for_download", "failed"]
    at: str


def status_of(lease: Lease) -> str:
    """Return how far a job is; one that came through /claim is called `processing`."""
    if lease.phase == "transcribing" and lease.notes.get(LEGACY):
        return "processing"
    return lease.phase


def job(lease: Lease, source_url: SourceUrl, left: Left | None = None) -> dict[str, Any]:
    """Return `{"job": …}`; `left` where the lease, as it was read before, is its worker's no more."""
    task, told, notes = lease.task, lease.told, lease.notes
    waiting = left is not None and left.status == "queued_for_download"
    held: dict[str, Any] = {
        "localSourcePath": notes.get("localSourcePath"),
        "downloadedAt": told.ready_at,
        "claimedAt": task.claimed_at,
        "heartbeatAt": left.at if left is not None and left.status == "failed" else told.beat_at,
    }
    found = {
        "id": ids.to_wire(task.id),
        "status": status_of(lease) if left is None else left.status,
        "chatId": CHAT,
        "telegramChatId": CHAT,
        "sourceMessageId": task.number,
        "recognitionLanguageHint": lease.language,
        "partialResultText": notes.get("partialResultText"),
        "lastProgressAt": notes.get("lastProgressAt"),
        "lastProgressPublishedAt": notes.get("lastProgressPublishedAt"),
        "attempts": lease.attempt,
        "createdAt": task.created_at,
        "updatedAt": max(task.updated_at, told.beat_at) if left is None else left.at,
        **_file(lease, source_url),
        **({} if waiting else held),
    }
    return {"job": _there(found)}


def source(lease: Lease, source_url: SourceUrl) -> dict[str, Any]:
    """Return `{"source": …}`."""
    found = {
        "jobId": ids.to_wire(lease.task.id),
        "localSourcePath": lease.notes.get("localSourcePath"),
        **_file(lease, source_url),
    }
    return {"source": _there(found)}


def _file(lease: Lease, source_url: SourceUrl) -> dict[str, Any]:
    id_ = ids.to_wire(lease.task.id)
    url = source_url(lease)
    return {
        "fileId": id_,
        "fileUniqueId": id_,
        "fileSize": lease.task.size,
        "mimeType": _MIME,
        "fileName": f"{id_}.flac",
        "sourceKind": "audio",
        "sourceUrl": None if url is None else without_bot_token(url),
    }


def _there(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}
