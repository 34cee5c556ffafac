"""Which encoding a file is in, told by its bytes alone: also of a sentence, also of one that is cut."""

from __future__ import annotations

import pytest

from documents.media_types import UnsupportedFile, detect, unmarked_utf16
from indexing.parsers import encoding
from indexing.parsers.encoding import decode
from indexing.parsers.plausibility import READINGS

CHINESE = "第一条 员工因公出差，应当事先填写申请单，经部门负责人批准后方可报销。"
TAIWAN = "員工請假應事先填寫請假單，經主管核准後始得離開。電腦軟體安裝完成後，請重新啟動。"
JAPANESE = "出張する者は、事前に申請書を提出し、上司の承認を得なければならない。"
KATAKANA = "サーバーのパスワードは毎月変更すること。"
KOREAN = "직원은 출장 전에 신청서를 작성하여 승인을 받아야 합니다."
RUSSIAN = "Заявление подаётся руководителю не позднее чем за три дня до поездки."
UKRAINIAN = "Працівник повинен подати заяву до початку відпустки. Її розглядає керівник."
GERMAN = "Größe und Übergänge müssen für alle Straßen geprüft werden."
FRENCH = "Les salariés doivent présenter leur demande à l’avance ; où, à côté, déjà reçu."
SPANISH = "¿Cómo solicito las vacaciones? El año próximo habrá más días."
ENGLISH = "The employee’s request must be “approved” – no later than five days. It costs €50."
POLISH = "Pracownik powinien złożyć wniosek najpóźniej pięć dni wcześniej."
CZECH = "Zaměstnanec musí podat žádost nejpozději pět dní předem. Příliš pozdní žádosti."
TURKISH = "Çalışanlar izin başvurusunu en geç beş gün önce yapmalıdır."
GREEK = "Ο εργαζόμενος πρέπει να υποβάλει την αίτηση πέντε ημέρες νωρίτερα."
HEBREW = "על העובד להגיש את הבקשה חמישה ימים מראש."
ARABIC = "يجب على الموظف تقديم الطلب قبل خمسة أيام."
THAI = "พนักงานต้องยื่นคำขอล่วงหน้าห้าวัน"

WRITTEN_IN = [
    *((CHINESE, name) for name in ("gbk", "gb18030", "gb2312")),
    *((TAIWAN, name) for name in ("big5", "cp950", "gb18030")),
    *((text, name) for text in (JAPANESE, KATAKANA) for name in ("shift_jis", "cp932", "euc_jp")),
    *((KOREAN, name) for name in ("euc_kr", "cp949")),
    *((RUSSIAN, name) for name in ("cp1251", "koi8_r", "cp866", "iso8859_5")),
    *((UKRAINIAN, name) for name in ("cp1251", "koi8_u")),
    *((GERMAN, name) for name in ("cp1252", "latin_1", "cp850", "mac_roman")),
    *((text, "cp1252") for text in (FRENCH, SPANISH, ENGLISH)),
    *((text, name) for text in (POLISH, CZECH) for name in ("cp1250", "iso8859_2")),
    *((TURKISH, "cp1254"), (GREEK, "cp1253"), (HEBREW, "cp1255"), (ARABIC, "cp1256"), (THAI, "tis_620")),
]
SURE = [pair for pair in WRITTEN_IN if pair[0] in (CHINESE, TAIWAN, JAPANESE, KATAKANA, KOREAN, RUSSIAN, ENGLISH)]


@pytest.mark.parametrize(("text", "name"), WRITTEN_IN)
def test_a_sentence_is_enough(text: str, name: str) -> None:
    assert decode(text.encode(name)) == text


@pytest.mark.parametrize(("text", "name"), SURE)
def test_so_are_twenty_characters_of_it(text: str, name: str) -> None:
    for start in range(0, len(text) - 20, 5):
        part = text[start : start + 20]
        assert decode(part.encode(name)) == part


@pytest.mark.parametrize(("text", "name"), SURE)
def test_a_file_may_be_long_mostly_ascii_and_cut(text: str, name: str) -> None:
    source = "plain words\r\n" * 500 + text * 50
    content = source.encode(name)
    assert decode(content) == source
    assert decode(content[:-1])[: len(source) - 2] == source[:-2]
    assert decode(content[:3_000].rsplit(b"\n", 1)[0]) == source[:3_000].rsplit("\n", 1)[0]


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [CHINESE + "\r\nID 7\r\n", ENGLISH, RUSSIAN + "\n", KOREAN, JAPANESE + "A1\n"])
def test_two_bytes_each_without_a_mark(text: str, order: str) -> None:
    content = text.encode(order)
    assert unmarked_utf16(content) == order
    assert decode(content) == text
    assert detect(content, "a.txt") == "text/plain"


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 40, b"\0" * 900, b"a\0b\0\xff\xfe\1\2\3\4" * 99, b"text\0more" * 99]
)
def test_noise_is_no_text_of_two_bytes_each(content: bytes) -> None:
    assert unmarked_utf16(content) is None
    with pytest.raises(UnsupportedFile):
        detect(content, "a.txt")


def test_every_name_is_one_that_python_knows_and_a_page_may_declare() -> None:
    for reading in READINGS:
        "a".encode(reading.encoding)
        assert decode("<日本>".encode("cp932"), declared="shift_jis") == "<日本>"
        assert encoding._is_known(reading.encoding)


def test_what_is_not_ascii_counts_wherever_it_stands_in_its_line() -> None:
    words = "员工出差应当事先申请，并在三天内提交报销单。"
    for name in ("gb18030", "big5"):
        text = "a word " * 5_000 + (words if name == "gb18030" else "員工出差應當事先申請，並在三天內提交報銷單。")
        assert decode(text.encode(name)) == text
