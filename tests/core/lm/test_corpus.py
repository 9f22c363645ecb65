"""The bundled verses are held out and known to models, and other tables are refused."""

import hashlib

import pytest

from gating_core.characters import CHARACTERS, decode, encode, left_out
from gating_core.lm.corpus import LANGUAGES, read_excerpt


def test_the_excerpt_is_short_held_out_and_known_to_models():
    verses = read_excerpt()
    assert len(verses) == 200 == len({verse.reference for verse in verses})
    hashes = [hashlib.sha256(verse.reference.encode()).digest() for verse in verses]
    assert not any(int.from_bytes(x[:8], "big") % 32 for x in hashes)
    for language in LANGUAGES:
        text = "".join(getattr(verse, language) for verse in verses)
        assert 20_000 < len(text) < 60_000
        assert not left_out(text)


@pytest.mark.parametrize("line", ["Job 1:1\ta\n", "Job 1:1\ta\t7\n"])
def test_another_table_is_refused(tmp_path, line):
    (tmp_path / "v.tsv").write_text(line)
    with pytest.raises(ValueError, match=r"line 1 of v\.tsv is no verse in two languages"):
        read_excerpt(tmp_path / "v.tsv")


def test_texts_become_numbers_and_come_back():
    text = CHARACTERS[1:]
    assert decode(encode(text)) == "\n" + text
    assert len(set(CHARACTERS)) == len(CHARACTERS)
    assert left_out("Ab7 \n7%") == "7\n%"
    with pytest.raises(ValueError, match="text contains '7'"):
        encode("Ab7")
