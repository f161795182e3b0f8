"""Hours of the day, over midnight or not."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.hours import DAY_MINUTES, Hours

minutes = st.integers(0, DAY_MINUTES - 1)


def at(minute: int) -> datetime:
    return datetime(2026, 1, 1, minute // 60, minute % 60)


@pytest.mark.parametrize(
    ("text", "clock", "inside"),
    [
        ("22:00-07:00", (23, 0), True),
        ("22:00-07:00", (6, 59), True),
        ("22:00-07:00", (7, 0), False),
        ("22:00-07:00", (21, 59), False),
        ("9:00-17:30", (9, 0), True),
        ("9:00 – 17:30", (17, 30), False),
        ("00:00-24:00", (23, 59), True),
        ("01:00-02:00, 12:00-13:00", (12, 30), True),
        ("", (3, 0), True),
    ],
)
def test_a_moment_lies_in_the_hours_or_not(text, clock, inside):
    assert Hours.parse(text).open_at(datetime(2026, 1, 1, *clock)) is inside


@pytest.mark.parametrize(
    "text", ["22-07", "22:00", "25:00-07:00", "22:60-07:00", "07:00-07:00", "00:00-24:01", "x"]
)
def test_what_are_no_hours_is_said_so(text):
    with pytest.raises(ValueError, match="needs hours like 22:00-07:00"):
        Hours.parse(text)


@given(minutes, minutes, minutes)
def test_a_span_and_its_opposite_share_the_day(start, end, now):
    if start != end:
        one, other = Hours(((start, end),)), Hours(((end, start),))
        assert one.open_at(at(now)) != other.open_at(at(now))


def test_hours_are_shown_as_people_write_them():
    assert str(Hours.parse("9:05-17:30;22:00-07:00")) == "09:05–17:30, 22:00–07:00"
