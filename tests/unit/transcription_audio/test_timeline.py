"""Where silence is filled in, and what counts as damage."""

from bridge_agent.transcription.audio.timeline import TimeLine
from bridge_agent.transcription.model import RATE, Damage


def line(absolute=True, stamped=True, exact=True) -> TimeLine:
    return TimeLine(absolute=absolute, stamped=stamped, exact=exact)


def frame(one: TimeLine, start: float | None, seconds: float = 1.0) -> int:
    """Play the decoder's part for one frame; return the silence before it, in samples."""
    hole = one.hole(start, seconds)
    if hole or one.broken:
        one.fill(hole)
    one.put(round(seconds * RATE))
    return hole


def test_frames_in_a_row_leave_no_hole():
    one = line()
    assert [frame(one, start) for start in (0.0, 1.0, 2.0)] == [0, 0, 0]
    assert one.damage == []


def test_a_late_start_is_silence_and_no_damage():
    one = line()
    assert frame(one, 4.0) == 4 * RATE
    assert one.damage == []
    assert one.samples == 5 * RATE


def test_a_codecs_delay_is_no_late_start():
    assert frame(line(), 0.025) == 0


def test_without_an_absolute_line_the_first_frame_is_the_start():
    assert frame(line(absolute=False), 36_000.0) == 0


def test_a_bad_packet_is_filled_by_its_timestamps_and_noted():
    one = line(stamped=False)
    frame(one, 0.0)
    one.bad_packet(1.5)
    assert frame(one, 1.5) == RATE // 2
    assert one.damage == [Damage(start=RATE, end=RATE + RATE // 2, reason="damaged")]


def test_a_bad_packet_without_any_time_is_a_place():
    one = line()
    frame(one, 0.0)
    one.bad_packet(None)
    frame(one, 1.0)
    assert one.damage == [Damage(start=RATE, end=RATE, reason="damaged")]


def test_damages_within_a_second_are_one():
    one = line()
    for start in (0.0, 1.0, 1.9):
        one.bad_packet(None)
        frame(one, start, 0.5)
    frame(one, 2.4)
    one.bad_packet(None)
    frame(one, 10.0)
    assert [(d.start / RATE, d.end / RATE) for d in one.damage] == [(0, 1.9), (3.4, 10)]


def test_a_jump_without_a_bad_packet_counts_only_with_timestamps_of_its_own():
    stamped, counted = line(), line(stamped=False)
    for one in (stamped, counted):
        frame(one, 0.0)
    assert frame(stamped, 3.0) == 2 * RATE
    assert frame(counted, 3.0) == 0


def test_timestamps_that_go_back_are_followed():
    one = line()
    assert [frame(one, start) for start in (0.0, 1.0, 0.0, 1.0)] == [0, 0, 0, 0]


def test_a_jump_of_hours_is_believed_only_from_a_table():
    loose, exact = line(exact=False), line()
    for one in (loose, exact):
        frame(one, 0.0)
        one.bad_packet(None)
    assert frame(loose, 7200.0) == 0
    assert frame(exact, 7200.0) == 7199 * RATE


def test_bad_packets_at_the_end_are_filled_where_a_table_tells_their_length():
    one, loose = line(), line(exact=False)
    for each in (one, loose):
        frame(each, 0.0)
        each.bad_packet(3.0)
    assert one.tail() == 2 * RATE
    assert loose.tail() == 0


def test_a_broken_off_end_takes_the_damage_before_it_along():
    one = line()
    frame(one, 0.0)
    one.bad_packet(1.1)
    one.fill(RATE // 10)
    one.ends_early()
    assert one.damage == [Damage(start=RATE, end=RATE + RATE // 10, reason="truncated")]


def test_frames_without_timestamps_follow_on():
    one = line()
    assert [frame(one, start) for start in (0.0, None, 9.0, 10.0)] == [0, 0, 0, 0]
