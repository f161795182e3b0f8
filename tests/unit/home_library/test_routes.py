"""Libraries, books and media over HTTP: what is served, and that nothing else of the disk is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from yarl import URL

from tests.fakes.bridge import Answer, Caller
from tests.fakes.clock import FakeClock
from tests.unit.home_library.audio import m4b, mp3
from tests.wire.server_rig import Rig, serving

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
async def house(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Rig]:
    """A home server over a library of a few books."""
    books = tmp_path / "books"
    mp3(books / "Jörg/Größe & mehr/01 #1 100%.mp3", 50)
    (books / "Jörg/Größe & mehr/cover.png").write_bytes(PNG)
    (books / "Jörg/Größe & mehr/desc.txt").write_text("About.", encoding="utf-8")
    (books / "Jörg/Größe & mehr/back.png").write_bytes(PNG)
    (books / "notes.txt").write_text("private", encoding="utf-8")
    (tmp_path / "secret.mp3").write_bytes(b"secret")
    async with serving(tmp_path, clock, books=3) as rig:
        yield rig


def media(house: Rig, path: str, *, raw: bool = False) -> str:
    return f"/media/{house.library_id}/" + (path if raw else URL.build(path="/" + path).raw_path[1:])


async def get(caller: Caller, path: str, **headers: str) -> Answer:
    return await raw(caller, "GET", path, **headers)


async def raw(caller: Caller, method: str, path: str, **headers: str) -> Answer:
    """Call an address exactly as it is written, without a client's tidying."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if caller.token:
        sent["Authorization"] = f"Bearer {caller.token}"
    url = URL(caller.url + "/api/v1" + path, encoded=True)
    async with caller.http.request(method, url, headers=sent) as answer:
        body = await answer.read()
        parsed = await answer.json() if answer.content_type == "application/json" and body else None
        return Answer(answer.status, parsed, body, answer.headers)


TRACK = "Jörg/Größe & mehr/01 #1 100%.mp3"


async def test_libraries_are_listed_with_their_scans(house: Rig) -> None:
    [library] = (await house.admin.get("/libraries"))["libraries"]
    assert library == {
        "id": house.library_id,
        "name": "Books",
        "root": str(house.books),
        "books": 4,
        "scan": {
            "state": "done",
            "done": 7,
            "total": 7,
            "finished_at": "2026-01-01T00:00:00.000Z",
            "error": None,
        },
    }


async def test_books_are_listed_in_pages(house: Rig) -> None:
    first = await house.admin.get(f"/libraries/{house.library_id}/books", params={"limit": "2"})
    assert [book["title"] for book in first["books"]] == ["Book 1", "Book 2"]
    assert {"path", "title", "author", "series", "duration", "size", "files", "state"} <= set(
        first["books"][0]
    )
    rest = await house.admin.get(
        f"/libraries/{house.library_id}/books", params={"after": first["next_after"]}
    )
    assert [book["title"] for book in rest["books"]] == ["Book 3", "Größe & mehr"]
    assert rest["next_after"] is None
    found = await house.admin.get(f"/libraries/{house.library_id}/books", params={"q": "grosse jorg"})
    assert [book["path"] for book in found["books"]] == ["Jörg/Größe & mehr"]


async def test_strange_queries_of_books(house: Rig) -> None:
    queries = {"limit=x": 400, "after=x": 400, "limit=0": 200, "limit=9999": 200, "q=%00": 200}
    for query, status in queries.items():
        answer = await get(house.admin, f"/libraries/{house.library_id}/books?{query}")
        assert answer.status == status, query


async def test_books_of_no_library_are_not_found(house: Rig) -> None:
    assert (await house.admin.get("/libraries/99/books")).code == "not_found"
    assert (await house.admin.get("/libraries/x/books")).code == "not_found"


async def test_an_indexed_file_is_served_whole(house: Rig) -> None:
    answer = await get(house.admin, media(house, TRACK))
    assert answer.status == 200
    assert answer.raw == (house.books / TRACK).read_bytes()
    assert answer.headers["Content-Type"] == "audio/mpeg"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Accept-Ranges"] == "bytes"
    again = await get(house.admin, media(house, TRACK), If_None_Match=answer.headers["ETag"])
    assert (again.status, again.raw) == (304, b"")


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=100-", 206, slice(100, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=0-999999", 206, slice(0, None)),
        ("lines=1-2", 200, slice(0, None)),
    ],
)
async def test_a_part_of_a_file(house: Rig, asked: str, status: int, part: slice) -> None:
    whole = (house.books / TRACK).read_bytes()
    answer = await get(house.admin, media(house, TRACK), Range=asked)
    assert (answer.status, answer.raw) == (status, whole[part])
    if status == 206:
        start = len(whole[: part.start]) if part.start >= 0 else len(whole) + part.start
        assert answer.headers["Content-Range"] == f"bytes {start}-{start + len(answer.raw) - 1}/{len(whole)}"


async def test_a_part_beyond_the_end_is_refused(house: Rig) -> None:
    answer = await get(house.admin, media(house, TRACK), Range="bytes=999999-")
    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */20850")


async def test_a_head_tells_the_size_and_sends_nothing(house: Rig) -> None:
    answer = await raw(house.admin, "HEAD", media(house, TRACK))
    assert (answer.status, answer.headers["Content-Length"], answer.raw) == (200, "20850", b"")


async def test_a_cover_is_served_and_other_pictures_are_not(house: Rig) -> None:
    cover = await get(house.admin, media(house, "Jörg/Größe & mehr/cover.png"))
    assert (cover.status, cover.raw, cover.headers["Content-Type"]) == (200, PNG, "image/png")
    assert (await get(house.admin, media(house, "Jörg/Größe & mehr/back.png"))).status == 404


async def test_the_cover_inside_an_audio_file_is_served(house: Rig) -> None:
    from mutagen.mp4 import MP4, MP4Cover

    path = m4b(house.books / "Au/T/a.m4b", title="T")
    atoms = MP4(path)
    atoms["covr"] = [MP4Cover(PNG, imageformat=MP4Cover.FORMAT_PNG)]
    atoms.save()
    house.home.library.request_scan(house.library_id)
    await house.home.library.settled()
    details = await house.home.library.details(house.library_id, "Au/T")
    assert details is not None
    assert details.cover == "Au/T/a.m4b/cover"
    for _ in range(2):
        answer = await get(house.admin, media(house, details.cover))
        assert (answer.status, answer.raw, answer.headers["Content-Type"]) == (200, PNG, "image/png")
    assert (await get(house.admin, media(house, TRACK + "/cover"))).status == 404


ELSEWHERE = [
    "../secret.mp3", "..%2fsecret.mp3", "%2e%2e/secret.mp3", "Book%201/../../secret.mp3",
    "Book%201/..%2f..%2fsecret.mp3", "%00", "Book%201/all.wav%00.mp3", "//etc/passwd", "/etc/passwd",
    "%2fetc%2fpasswd", "notes.txt", "Book%201", "Book%201/", "", "..", "C:%5cWindows%5cwin.ini",
    "J%C3%B6rg/Gr%C3%B6%C3%9Fe%20&%20mehr/desc.txt", "%ff%fe", "Book%201/all.wav/",
]  # fmt: skip


async def test_nothing_else_of_the_disk_is_served(house: Rig) -> None:
    for path in ELSEWHERE:
        answer = await get(house.admin, media(house, path, raw=True))
        assert answer.status in (400, 404), path
        assert b"secret" not in answer.raw
        assert b"private" not in answer.raw


async def test_a_file_that_became_a_link_out_of_the_root_is_not_served(house: Rig, tmp_path: Path) -> None:
    place = house.books / "Book 1/all.wav"
    place.unlink()
    place.symlink_to(tmp_path / "secret.mp3")
    assert (await get(house.admin, media(house, "Book 1/all.wav"))).status == 404
    (house.books / "Book 2").rename(tmp_path / "moved out")
    (house.books / "Book 2").symlink_to(tmp_path / "moved out")
    assert (await get(house.admin, media(house, "Book 2/all.wav"))).status == 404
    (house.books / "Book 3/all.wav").unlink()
    assert (await get(house.admin, media(house, "Book 3/all.wav"))).status == 404


async def test_media_takes_sessions_api_keys_and_cast_tokens_alone(house: Rig) -> None:
    path = media(house, "Book 1/all.wav")
    key = (await house.admin.post("/admin/api-keys", {"name": "k"}))["token"]
    cast = (await house.admin.post("/media/cast")).body
    bridge = await house.pair()
    assert (await get(house.caller(key), path)).status == 200
    assert (await get(house.caller(cast["token"]), path)).status == 200
    assert (await get(house.nobody, f"{path}?token={cast['token']}")).status == 200
    for token in (None, bridge.token, "cst_nobody"):
        assert (await get(house.caller(token), path)).status == 401
    for token in (house.admin.token, key, bridge.token):
        assert (await get(house.nobody, f"{path}?token={token}")).status == 401
    for other in ("/libraries", f"/libraries/{house.library_id}/books"):
        assert (await get(house.caller(cast["token"]), other)).status == 401


async def test_a_cast_token_is_made_by_sessions_alone_and_ends_after_a_day(house: Rig) -> None:
    key = (await house.admin.post("/admin/api-keys", {"name": "k"}))["token"]
    assert (await house.caller(key).post("/media/cast")).status == 401
    assert (await house.nobody.post("/media/cast")).status == 401
    made = await house.admin.post("/media/cast")
    assert (made.status, made["expires_at"]) == (201, "2026-01-02T00:00:00.000Z")
    assert (await house.caller(made["token"]).post("/media/cast")).status == 401
    path = media(house, "Book 1/all.wav")
    await house.time.advance(86_399)
    assert (await get(house.caller(made["token"]), path)).status == 200
    await house.time.advance(2)
    assert (await get(house.caller(made["token"]), path)).status == 401


async def test_a_cast_receiver_of_another_origin_may_play(house: Rig) -> None:
    cast = (await house.admin.post("/media/cast"))["token"]
    path = media(house, "Book 1/all.wav")
    answer = await get(house.nobody, f"{path}?token={cast}")
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert (await get(house.admin, path)).headers["Cross-Origin-Resource-Policy"] == "same-origin"
