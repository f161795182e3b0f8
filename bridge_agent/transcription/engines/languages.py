"""Languages by their ISO 639-1 codes, as Whisper's models know and name them."""

_TABLE = """
af afrikaans am amharic ar arabic as assamese az azerbaijani ba bashkir be belarusian bg bulgarian bn
bengali bo tibetan br breton bs bosnian ca catalan cs czech cy welsh da danish de german el greek en
english es spanish et estonian eu basque fa persian fi finnish fo faroese fr french gl galician gu
gujarati ha hausa haw hawaiian he hebrew hi hindi hr croatian ht haitian_creole hu hungarian hy armenian
id indonesian is icelandic it italian ja japanese jw javanese ka georgian kk kazakh km khmer kn kannada
ko korean la latin lb luxembourgish ln lingala lo lao lt lithuanian lv latvian mg malagasy mi maori mk
macedonian ml malayalam mn mongolian mr marathi ms malay mt maltese my myanmar ne nepali nl dutch nn
nynorsk no norwegian oc occitan pa punjabi pl polish ps pashto pt portuguese ro romanian ru russian sa
sanskrit sd sindhi si sinhala sk slovak sl slovenian sn shona so somali sq albanian sr serbian su
sundanese sv swedish sw swahili ta tamil te telugu tg tajik th thai tk turkmen tl tagalog tr turkish tt
tatar uk ukrainian ur urdu uz uzbek vi vietnamese yi yiddish yo yoruba yue cantonese zh chinese
"""
_NAMES = _TABLE.split()

NAMES = dict(zip(_NAMES[::2], (name.replace("_", " ") for name in _NAMES[1::2]), strict=True))
"""Whisper's own code of each language it knows, and its English name."""

_CODES = {name: code for code, name in NAMES.items()}
_OTHERWISE = {"jv": "jw", "nb": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl", "cmn": "zh"}

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "my", "yue", "km", "bo"})
"""Written without spaces: what Whisper calls a word is a character or two."""


def whisper(code: str) -> str | None:
    """Return Whisper's code for a language, a region after it ignored; None for one it does not know."""
    plain = code.strip().lower().replace("_", "-").split("-")[0]
    plain = _OTHERWISE.get(plain, plain)
    return plain if plain in NAMES else None


def common(code: str) -> str:
    """Return the ISO 639-1 code for one of Whisper's."""
    return "jv" if code == "jw" else code


def named(text: str) -> str:
    """Return the ISO 639-1 code for a code or an English name, as servers answer; empty for neither."""
    plain = text.strip().lower()
    return common(_CODES.get(plain) or whisper(plain) or "")
