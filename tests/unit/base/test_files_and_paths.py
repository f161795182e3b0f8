"""Private files, paths from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.files import network_file_system, read_secret_file, write_private
from bridge_agent.base.paths import UnsafePath, lies_inside, safe_parts


def test_a_private_file_is_whole_private_and_replaces_the_last(tmp_path):
    path = tmp_path / "secret"
    write_private(path, b"one")
    write_private(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret_file(path) == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_never_replaces_something_else(tmp_path):
    (tmp_path / "secret").mkdir()
    with pytest.raises(OSError, match="no ordinary file"):
        write_private(tmp_path / "secret", b"x")


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\0b", "a/.."])
def test_unsafe_paths_are_refused(path):
    with pytest.raises(UnsafePath):
        safe_parts(path)


@given(st.lists(st.text(alphabet="ab .é\u0301漢", min_size=1), min_size=1))
def test_safe_paths_come_back_whole(parts):
    parts = [p for p in parts if p not in (".", "..")] or ["a"]
    assert safe_parts("/".join(parts)) == tuple(parts)


def test_a_link_out_does_not_lie_inside(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "root2").mkdir()
    (root / "out").symlink_to(tmp_path / "root2")
    assert not lies_inside(root / "out" / "x", root)
    assert not lies_inside(tmp_path / "root2", root)
    assert lies_inside(root / "in" / "x", root)
    assert lies_inside(root, root)


def test_a_local_folder_is_no_network_file_system(tmp_path):
    assert network_file_system(tmp_path) is None
