"""The corpus: tags stripped, verses aligned, the same ones held out in both languages."""

import pytest

from gating_core.characters import CHARACTERS, decode, encode, left_out
from gating_core.lm import corpus
from gating_core.lm.corpus import (
    EXCERPT_VERSES,
    LANGUAGES,
    Verse,
    align,
    make_corpus,
    plain_verses,
    read_excerpt,
    read_verses,
    write_verses,
)

MARKED = """\
<title type="psalm">A Psalm.</title> <lg sID="g1"/> <l sID="g2"/>Psalms 3:1: <w s="H1">Yahweh</w>, \
<w s="H2">how</w><w s="H3">my</w> foes!<l eID="g2"/><l sID="g3"/>Many rise,<w s="H4">up</w>.
and on the next line
I John 1:2: <w s="G5">only born</w>Son “<w>here</w>”
(engWEB2015eb)
"""


def test_tags_go_and_words_that_a_note_parted_are_two():
    assert plain_verses(MARKED) == {
        "Psalms 3:1": "Yahweh, how my foes! Many rise, up. and on the next line",
        "I John 1:2": "only born Son “here”",
    }


def test_verses_are_aligned_by_reference_without_what_models_do_not_know():
    english = {"Job 1:1": "a 1b", "Job 1:2": "only here", "Job 1:3": "x" * 601, "Job 1:4": "22"}
    spanish = {"Job 1:1": "ñ%", "Job 1:3": "y", "Job 1:4": "z", "Job 1:5": "only here"}
    assert align(english, spanish) == [Verse("Job 1:1", "a b", "ñ")]


def test_two_files_of_diatheke_become_a_corpus_and_its_excerpt(tmp_path, monkeypatch):
    files = [tmp_path / name for name in ("english.txt", "spanish.txt", "corpus.tsv", "verses.tsv")]
    monkeypatch.setattr(corpus, "CORPUS", files[2])
    monkeypatch.setattr(corpus, "EXCERPT", files[3])
    monkeypatch.setattr(corpus, "EXCERPT_VERSES", 2)
    for path, word in zip(files[:2], ("word", "palabra"), strict=True):
        path.write_text("".join(f"Job 1:{n}: <w>{word}</w>\n" for n in range(200)))
    verses = make_corpus(*files[:2])
    assert verses[7] == Verse("Job 1:7", "word", "palabra")
    assert read_verses(files[2]) == verses
    excerpt = read_verses(files[3])
    assert len(excerpt) == 2
    assert all(verse.held_out for verse in excerpt)
    files[0].write_text("")
    with pytest.raises(ValueError, match=r"english\.txt and spanish\.txt have no verse in common"):
        make_corpus(*files[:2])


def test_the_excerpt_is_short_held_out_and_known_to_models():
    verses = read_excerpt()
    assert len(verses) == EXCERPT_VERSES == len({verse.reference for verse in verses})
    assert all(verse.held_out for verse in verses)
    for language in LANGUAGES:
        text = "".join(getattr(verse, language) for verse in verses)
        assert 20_000 < len(text) < 60_000
        assert not left_out(text)


def test_one_verse_in_thirty_two_is_held_out():
    verses = [Verse(f"Job {n}:{m}", "", "") for n in range(64) for m in range(64)]
    assert 90 < sum(verse.held_out for verse in verses) < 170


def test_a_table_of_verses_comes_back_and_others_are_refused(tmp_path):
    verses, path = [Verse("Job 1:1", "a", "ñ"), Verse("Job 1:2", "b", "¿")], tmp_path / "v.tsv"
    write_verses(verses, path)
    assert read_verses(path) == verses
    for line in ("Job 1:1\ta\n", "Job 1:1\ta\t7\n"):
        path.write_text(line)
        with pytest.raises(ValueError, match=r"line 1 of v\.tsv is no verse in two languages"):
            read_verses(path)


def test_texts_become_numbers_and_come_back():
    text = CHARACTERS[1:]
    assert decode(encode(text)) == "\n" + text
    assert len(set(CHARACTERS)) == len(CHARACTERS)
    assert left_out("Ab7 \n7%") == "7\n%"
    with pytest.raises(ValueError, match="text contains '7'"):
        encode("Ab7")
