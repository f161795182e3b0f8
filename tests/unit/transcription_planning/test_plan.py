"""The plan's time line, gaps, chapters, hash, keys."""

import msgspec

from bridge_agent.transcription.model import RATE, Damage, FileChapter, Plan, decode, encode
from bridge_agent.transcription.planning import plan
from tests.unit.transcription_planning.surveys import SETTINGS, file, span, survey


def changed(value, **fields):
    return msgspec.structs.replace(value, **fields)


def test_files_lie_behind_one_another_in_the_order_given():
    made = plan.make(survey(file(10, path="z"), file(20, path="a")), SETTINGS)
    assert [(f.path, f.offset) for f in made.files] == [("z", 0), ("a", 10 * RATE)]
    assert made.samples == 30 * RATE


def test_damage_and_lost_files_are_gaps_on_the_books_line():
    hurt = file(30, damage=(Damage(start=5 * RATE, end=6 * RATE, reason="damaged"),))
    cut = file(30, damage=(Damage(start=99 * RATE, end=99 * RATE, reason="truncated"),), problem="truncated")
    lost = file(0, problem="drm", sentence="“x” is protected; …")
    made = plan.make(survey(file(10), hurt, lost, cut), SETTINGS)
    assert [(g.start / RATE, g.end / RATE, g.reason) for g in made.gaps] == [
        (15, 16, "damaged"),
        (40, 40, "drm"),
        (70, 70, "truncated"),
    ]


def test_a_silent_file_is_no_gap():
    assert plan.make(survey(file(10, problem="silent", sentence="…")), SETTINGS).gaps == ()


def test_chapters_are_moved_to_the_books_line():
    made = plan.make(survey(file(100, chapters=[0, 40]), file(50, chapters=[0])), SETTINGS)
    assert [(c.start / RATE, c.end / RATE) for c in made.chapters] == [(0, 40), (40, 100), (100, 150)]


def test_files_whose_tags_all_say_the_same_title_are_named_after_their_files():
    def tagged(path, title):
        chapter = FileChapter(title=title, start=0, end=10 * RATE, source="tags")
        return changed(file(10, path=path), chapters=(chapter,))

    same = plan.make(survey(tagged("cd/01 Begin.mp3", "Book"), tagged("cd/02 End.mp3", "Book")), SETTINGS)
    assert [(c.title, c.source) for c in same.chapters] == [("01 Begin", "folder"), ("02 End", "folder")]
    differ = plan.make(survey(tagged("1.mp3", "One"), tagged("2.mp3", "Two")), SETTINGS)
    assert [(c.title, c.source) for c in differ.chapters] == [("One", "tags"), ("Two", "tags")]


def test_the_hash_covers_sources_decoder_and_settings():
    base = survey(file(300, [(150, 151)]))
    only = base.files[0]
    hashes = {
        plan.make(base, SETTINGS).hash,
        plan.make(changed(base, decoder="other"), SETTINGS).hash,
        plan.make(base, changed(SETTINGS, quality="accurate")).hash,
        *(
            plan.make(survey(changed(only, **one)), SETTINGS).hash
            for one in ({"path": "p"}, {"size": 1}, {"content": "c"}, {"samples": 5}, {"problem": "damaged"})
        ),
    }
    assert len(hashes) == 8


def test_the_hash_ignores_the_stamp_and_the_places_to_listen():
    base = file(300)
    other = changed(base, stamp="later", loud=(span(0, 30),))
    assert plan.make(survey(base), SETTINGS).hash == plan.make(survey(other), SETTINGS).hash


def test_a_part_keeps_its_key_when_other_files_change_or_its_own_is_renamed():
    a, b = file(300, [(150, 151)], path="a", content="A"), file(100, path="b", content="B")
    before = plan.make(survey(a, b), SETTINGS)
    after = plan.make(survey(file(50, path="new"), changed(a, path="renamed", size=7)), SETTINGS)
    keys = [plan.part_key(before, part) for part in before.parts]
    assert [plan.part_key(after, part) for part in after.parts][1:] == keys[:2]
    assert len(set(keys)) == 3


def test_a_part_gets_another_key_with_other_sound_stretch_or_settings():
    def keys(files, settings=SETTINGS):
        made = plan.make(survey(*files), settings)
        return [plan.part_key(made, part) for part in made.parts]

    base = keys([file(100)])
    assert keys([file(100, content="other")]) != base
    assert keys([file(99)]) != base
    assert keys([file(100)], changed(SETTINGS, hotwords=("Anna",))) != base


def test_places_to_listen_are_spread_over_the_book():
    loud = tuple(span(t, t + 30) for t in (0, 100, 470, 930))
    long = changed(file(1000), loud=loud)
    places = plan.language_places(survey(long, changed(file(1000, path="b"), loud=loud)))
    assert [(number, place.start / RATE) for number, place in places] == [
        (0, 100), (0, 470), (1, 0), (1, 470), (1, 930),
    ]  # fmt: skip


def test_a_book_without_sound_has_no_places_to_listen():
    assert plan.language_places(survey(file(0, problem="drm"))) == []


def test_warnings_count_what_is_lost_and_name_each_file():
    lost = [
        file(0, problem="drm", sentence="“a” is protected; …"),
        file(0, problem="unreadable", sentence="“b” …"),
    ]
    assert plan.warnings(survey(*lost, file(5))) == [
        "2 of 3 files could not be read; the rest is transcribed.",
        "“a” is protected; …",
        "“b” …",
    ]
    assert plan.warnings(survey(file(5))) == []
    assert (
        plan.warnings(survey(*lost))[0] == "2 of 2 files could not be read; there is nothing to transcribe."
    )


def test_a_plan_survives_being_written_down():
    made = plan.make(survey(file(500, [(150, 151)], [0, 300])), SETTINGS)
    assert decode(encode(made), Plan) == made
