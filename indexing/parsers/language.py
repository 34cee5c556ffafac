"""The language that most of a text is in: by its script, for the Latin and Cyrillic scripts by its commonest words."""

from __future__ import annotations

import re
from collections import Counter

SAMPLES = 20  # pieces of a long text, from its beginning to its end
SAMPLE = 2_000  # characters
FEWEST_WORDS = 3  # of the commonest ones, that tell a language

_SCRIPTS = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "kana": re.compile(r"[\u3041-\u3096\u30a1-\u30fa]"),
    "ko": re.compile(r"[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]"),
    "cyrillic": re.compile(r"[\u0400-\u052f]"),
    "el": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "arabic": re.compile(r"[\u0600-\u06ff\u0750-\u077f]"),
    "th": re.compile(r"[\u0e01-\u0e5b]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
}
# A letter of these says as much as so many of an alphabet.
_WEIGHT = {"han": 3.0, "kana": 3.0, "ko": 2.0}
_WORDS = re.compile(r"[^\W\d_]+")
_COMMON = {
    "en": "the of and to in a is that for be are with as on by this must may or not from your you can will it",
    "de": "der die das und ist nicht von zu den mit für auf des im ein eine werden sind oder bei wird nach sich auch",
    "fr": "le la les des et est une un du dans pour que qui par sur pas vous au ou avec ce sont être",
    "es": "el la los las de que y en un una por con para es se del no su al o más como lo",
    "pt": "o os as de que e em um uma por com para é se do da não na no ao mais como são",
    "it": "il la gli di che e un una per con è non del della in i le da si sono alla nel",
    "nl": "de het een en van is niet op te voor met zijn dat die aan of door worden wordt bij als",
    "sv": "och att det som en är för av på med den inte till i ett om har ska",
    "pl": "i w na z do nie się że jest oraz o po przez dla lub od są za nie",
    "cs": "a je na se že v s z do pro nebo o jako být podle který jsou k",
    "tr": "ve bir bu için ile da de olarak olan veya en daha gibi çok",
    "vi": "và của là có không được cho các trong một người với này khi",
    "id": "yang dan di untuk dengan dari pada ini adalah tidak atau dalam akan",
    "ru": "и в не на что с по для от к из или за как это при его",
    "uk": "і в не на що з по для від до або за як це при та",
    "bg": "и в не на че с по за от да се или е са при",
    "ar": "في من على أن إلى هذا هذه التي الذي عن مع أو لا",
    "fa": "در از به که این را با است برای آن و می",
}
_LANGUAGES = {
    "latin": ("en", "de", "fr", "es", "pt", "it", "nl", "sv", "pl", "cs", "tr", "vi", "id"),
    "cyrillic": ("ru", "uk", "bg"),
    "arabic": ("ar", "fa"),
}
_COMMON_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}


def language_of(text: str) -> str | None:
    """Its code as in BCP 47 (“zh”, “en”), or None where there is no telling."""
    sample = _sample(text)
    counted = {script: len(letters.findall(sample)) for script, letters in _SCRIPTS.items()}
    weighed = {script: count * _WEIGHT.get(script, 1.0) for script, count in counted.items()}
    weighed["han"] += weighed.pop("kana")
    most = max(weighed.values())
    # Names and code in Latin letters, more of them than text, are no language; the text around them is.
    scripts = (name for name in sorted(weighed, key=lambda name: -weighed[name]) if weighed[name] * 4 > most)
    return next(filter(None, (_of_script(name, sample, counted) for name in scripts)), None)


def _of_script(script: str, sample: str, counted: dict[str, int]) -> str | None:
    if script == "han":
        # Japanese has a kana for each kanji or more; a Chinese text may quote some.
        return "ja" if counted["kana"] * 5 > counted["han"] else "zh"
    if script in _LANGUAGES:
        return _by_words(sample, _LANGUAGES[script])
    return script


def _by_words(sample: str, languages: tuple[str, ...]) -> str | None:
    words = Counter(_WORDS.findall(sample.lower()))
    found = {name: sum(words[word] for word in _COMMON_WORDS[name]) for name in languages}
    first, second = sorted(found.values(), reverse=True)[:2]
    if first < FEWEST_WORDS or first * 4 < second * 5 or first * 20 < words.total():
        return None
    return max(found, key=lambda name: found[name])


def _sample(text: str) -> str:
    if len(text) <= SAMPLES * SAMPLE:
        return text
    step = len(text) // SAMPLES
    return " ".join(text[begin : begin + SAMPLE] for begin in range(0, step * SAMPLES, step))
