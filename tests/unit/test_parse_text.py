from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indexing.errors import NoText
from indexing.parsers.clean import clean, join_lines, tidy
from indexing.parsers.encoding import decode
from indexing.parsers.text import parse
from tests.unit.blocks_asserts import check, outline, squeezed


def lines_of(source: str) -> list[tuple[int, int] | None]:
    return [block.locator.lines for block in parse(source.encode()).blocks]


def test_chinese_rules_have_a_heading_tree() -> None:
    source = (
        "第一章 总则\n\n第一条 目的\n为了规范考勤，制定本办法。\n第二条 范围\n适用于全体员工。\n\n"
        "第二章 工时\n\n第三条 为了保证健康，每日工作不超过八小时。\n"
    )
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("h1", "第一章 总则"),
        ("h2", "第一条 目的"),
        ("paragraph", "为了规范考勤，制定本办法。"),
        ("h2", "第二条 范围"),
        ("paragraph", "适用于全体员工。"),
        ("h1", "第二章 工时"),
        ("paragraph", "第三条 为了保证健康，每日工作不超过八小时。"),
    ]
    assert document.blocks[4].heading_path == ("第一章 总则", "第二条 范围")
    assert lines_of(source) == [(1, 1), (3, 3), (4, 4), (5, 5), (6, 6), (8, 8), (10, 10)]


def test_english_headings_by_number_and_capitals() -> None:
    source = "TRAVEL POLICY\n\n1.1 Who may travel\nEverybody may.\n\n1.2 Who pays\nThe company pays for 2.5 nights.\n"
    assert outline(parse(source.encode())) == [
        ("h1", "TRAVEL POLICY"),
        ("h2", "1.1 Who may travel"),
        ("paragraph", "Everybody may."),
        ("h2", "1.2 Who pays"),
        ("paragraph", "The company pays for 2.5 nights."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "第一章的内容很多，下面逐一说明。",
        "第三条规定",
        "第二章 工时 ........ 12",
        "1.5 million people live there",
        "OK",
        "NOTE: READ THIS.",
        "Chapter 3 describes, among others, the rules",
    ],
)
def test_a_sentence_is_no_heading(line: str) -> None:
    assert outline(parse(f"Before.\n\n{line}\n\nAfter.".encode()))[1] == ("paragraph", line)


def test_neighbours_of_one_form_are_a_list() -> None:
    assert outline(parse("目录：\n一、总则\n二、工时\n三、附则\n".encode())) == [
        ("paragraph", "目录："),
        ("list_item", "一、总则"),
        ("list_item", "二、工时"),
        ("list_item", "三、附则"),
    ]


def test_list_items_keep_their_wrapped_lines() -> None:
    source = "Bring:\n- a passport that is\n  still valid\n- 2 photographs\n1) your contract\n"
    assert outline(parse(source.encode())) == [
        ("paragraph", "Bring:"),
        ("list_item", "- a passport that is\nstill valid"),
        ("list_item", "- 2 photographs"),
        ("list_item", "1) your contract"),
    ]
    assert lines_of(source) == [(1, 1), (2, 3), (4, 4), (5, 5)]


def test_questions_stay_with_their_answers() -> None:
    source = (
        "Q: How do I get a badge?\nA: Ask the reception.\nIt takes a day.\nQ2: And a key?\n\nA2: Never.\n\n"
        "问：怎么请假？\n答：在系统中申请。\n\nQ: Unanswered?\n"
    )
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("faq", "Q: How do I get a badge?\nA: Ask the reception.\nIt takes a day."),
        ("faq", "Q2: And a key?\nA2: Never."),
        ("faq", "问：怎么请假？\n答：在系统中申请。"),
        ("paragraph", "Q: Unanswered?"),
    ]
    assert [block.locator.lines for block in document.blocks] == [(1, 3), (4, 6), (8, 9), (11, 11)]


def test_headings_with_lines_below_them() -> None:
    source = (
        "Travel\n======\n\nText.\n\n报销规定\n--------\n\nMore.\n---\n\n====\nNext\n====\n\nA line\nof text\n-------\n"
    )
    document = check(parse(source.encode()))
    assert outline(document) == [
        *(("h1", "Travel"), ("paragraph", "Text."), ("h2", "报销规定"), ("h2", "More."), ("h1", "Next")),
        ("paragraph", "A line\nof text\n-------"),
    ]
    assert lines_of(source) == [(1, 2), (4, 4), (6, 7), (9, 10), (13, 14), (16, 18)]


def test_wrapped_paragraphs_are_joined_and_short_lines_are_not() -> None:
    english = (
        "The request must be approved by the manager of the\ndepartment before the journey begins, and they\nare kept."
    )
    chinese = (
        "员工因公出差，应当事先填写申请单，经部门负责人批准后\n方可报销差旅费用，报销单据应当在返回后十五日之\n内提交。"
    )
    verse = "Roses are red,\nViolets are blue."
    listed = "Every receipt is kept for as long as the law says.\nEvery request is approved before the journey begins."
    assert outline(parse("\n\n".join((english, chinese, verse, listed)).encode())) == [
        ("paragraph", english.replace("\n", " ")),
        ("paragraph", chinese.replace("\n", "")),
        ("paragraph", verse),
        ("paragraph", listed),
    ]


@pytest.mark.parametrize(
    ("source", "rows", "header_rows", "places"),
    [
        ("城市\t上限\n北京\t600\n上海\t650\n", (("城市", "上限"), ("北京", "600"), ("上海", "650")), 1, [1, 2, 3]),
        ("a\tb\nc\t\n", (("a", "b"), ("c", "")), 0, [1, 2]),
        (
            "+------+-----+\n| City | Max |\n+======+=====+\n| 北京 | 600 |\n| Ulm  | n/a |\n+------+-----+\n",
            (("City", "Max"), ("北京", "600"), ("Ulm", "n/a")),
            1,
            [2, 4, 5],
        ),
        ("City | Max\n-----|----\nUlm  | 80\n", (("City", "Max"), ("Ulm", "80")), 1, [1, 3]),
        (
            "城市    Hotel   Max\n北京    Grand   600\nUlm     Small    80\n",
            (("城市", "Hotel", "Max"), ("北京", "Grand", "600"), ("Ulm", "Small", "80")),
            1,
            [1, 2, 3],
        ),
    ],
)
def test_tables(source: str, rows: tuple[tuple[str, ...], ...], header_rows: int, places: list[int]) -> None:
    document = check(parse(f"{source}\nAfter.\n".encode()))
    table = document.blocks[0]
    assert (table.rows, table.header_rows) == (rows, header_rows)
    assert [part.lines for part in table.parts] == [(place, place) for place in places]
    assert document.blocks[1].text == "After."


PROSE = """\
The company was        Employees may         Requests for travel
founded in 1990        claim what they       must be approved
by two friends. It     spent within          by a manager, who
has grown since.       thirty days.          answers in a week.
"""
PROSE_CJK = """\
公司成立于一九九零年，      员工出差应当事先申请，
最初只有两名员工和一间      经部门负责人批准之后方
租来的办公室，后来不断      可预订机票和酒店，费用
扩大到全国。                在三十天内报销。
"""


def test_running_text_in_columns_is_read_column_by_column() -> None:
    document = check(parse(f"{PROSE}\n{PROSE_CJK}".encode()))
    assert outline(document) == [
        ("paragraph", "The company was founded in 1990 by two friends. It has grown since."),
        ("paragraph", "Employees may claim what they spent within thirty days."),
        ("paragraph", "Requests for travel must be approved by a manager, who answers in a week."),
        ("paragraph", "公司成立于一九九零年，最初只有两名员工和一间租来的办公室，后来不断扩大到全国。"),
        ("paragraph", "员工出差应当事先申请，经部门负责人批准之后方可预订机票和酒店，费用在三十天内报销。"),
    ]
    assert [block.locator.lines for block in document.blocks] == [(1, 4)] * 3 + [(6, 9)] * 2


def test_a_column_may_end_before_the_others() -> None:
    source = """\
Short text of        Another one that
two lines.           goes on for a
                     third line.
After all of them comes a line.
"""
    assert outline(parse(source.encode())) == [
        ("paragraph", "Short text of two lines."),
        ("paragraph", "Another one that goes on for a third line."),
        ("paragraph", "After all of them comes a line."),
    ]


CODE = [
    "int     count   = 0;\nchar    *name   = NULL;\ndouble  ratio   = 1.0;\n",
    "CC      := gcc\nCFLAGS  := -O2\nLDLIBS  := -lm\n",
    "x = 1       # the first\nwhole = 2   # the second\nz = f(3)    # the third\n",
    "mov   eax, 1    ; load\nadd   eax, 2    ; sum\nret   0         ; done\n",
    'names = {\n"city":    "北京",\n"street":  "长安街",\n"house":   1,\n}\n',
    "name  text     not null,\nsize  integer  not null,\nday   date     not null,\n",
    "int\tcount;\nchar\tname;\nlong\tratio;\n",
]


@pytest.mark.parametrize("source", CODE)
def test_aligned_code_is_no_table(source: str) -> None:
    document = check(parse(source.encode()))
    assert "table" not in dict(outline(document))
    assert document.text == "\n".join(" ".join(line.split()) for line in source.splitlines())


RECORDS = """\
apple    red       sweet
pear     green     sour
plum     blue      sweet

北京    上海    广州
深圳    杭州    南京
成都    武汉    西安

annual leave    granted each year     15 days
sick leave      with a certificate    10 days
other leave     if a chief agrees     5 days

Fee         Paid by the customer.    yes
Postage     Paid by the company.     no
Insurance   Paid by the company.     no

年假        工作满一年的员工，每年十五天      人事部
病假        凭医院开具的诊断证明，十天内      人事部
事假        经部门负责人批准之后，五天内      财务部

# of items   7   used
# of boxes   9   new
# of bags    4   old

a = b   1.5   first
c = d   2.5   other
e = f   3.5   last

Result   ->   ok
Reason   no   bad
Effect   ??   ok
"""


@pytest.mark.parametrize("source", RECORDS.split("\n\n"))
def test_records_stay_a_table(source: str) -> None:
    document = check(parse(source.encode()))
    assert [block.kind for block in document.blocks] == ["table"]
    assert len(document.blocks[0].rows) == 3


def test_no_tables() -> None:
    for source in ("\tindented\n\ttext\n", "One.  Two.\nThree.  Four more.\nFive.  Six.\n", "a | b\nc | d\n", "x\ty\n"):
        assert "table" not in dict(outline(parse(source.encode())))


def test_an_answer_without_a_question_is_text() -> None:
    assert outline(parse(b"A: nobody asked\n")) == [("paragraph", "A: nobody asked")]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_count_as_editors_count_them(ends: str) -> None:
    source = ends.join(["one", "", "two\f still two", "three"])
    document = parse(source.encode())
    assert [(block.text, block.locator.lines) for block in document.blocks] == [
        ("one", (1, 1)),
        ("two still two\nthree", (3, 4)),
    ]


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\x00\x00", "\ufeff\u200b\n".encode()])
def test_no_text(content: bytes) -> None:
    with pytest.raises(NoText):
        parse(content)


def test_what_is_removed_and_what_stays() -> None:
    assert clean("a\x00b\x07c\ud800d\ufeffe\u200bf\u202eg\xadh") == "abcdefgh"
    assert clean("\ud83d\ude00") == "😀"  # two halves that belong together
    assert clean("e\u0301") == "é"
    assert clean("می\u200cخواهم 👩\u200d🔬") == "می\u200cخواهم 👩\u200d🔬"
    assert clean("a\r\nb\rc\u2028d\te") == "a\nb\nc\nd\te"
    assert parse(b"one\x00two \xed\xa0\x80three\n").text == "onetwo three"


def test_lines_join_by_script() -> None:
    assert join_lines(["年假为", "十五天"]) == "年假为十五天"
    assert join_lines(["annual", "leave"]) == "annual leave"
    assert join_lines(["使用", "Django"]) == "使用 Django"
    assert join_lines(["Django。", "Then"]) == "Django。Then"
    assert join_lines(["한국", "어"]) == "한국 어"


PARAGRAPH = "差旅费用应当在返回后十五个工作日之内报销。"
GERMAN = "Größe und Übergänge müssen für Straßen geprüft werden."
RUSSIAN = "Порядок оформления командировок сотрудников компании."


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (PARAGRAPH.encode("gb18030"), PARAGRAPH),
        (PARAGRAPH.encode("utf-8-sig"), PARAGRAPH),
        (b"\xff\xfe" + PARAGRAPH.encode("utf-16-le"), PARAGRAPH),
        (b"\xfe\xff" + PARAGRAPH.encode("utf-16-be"), PARAGRAPH),
        (GERMAN.encode("cp1252"), GERMAN),
        (RUSSIAN.encode("cp1251"), RUSSIAN),
        (PARAGRAPH.encode() + b"\xff" + PARAGRAPH.encode(), f"{PARAGRAPH}\ufffd{PARAGRAPH}"),
    ],
    ids=["gb18030", "utf-8 mark", "utf-16 le", "utf-16 be", "cp1252", "cp1251", "one broken byte"],
)
def test_encodings(content: bytes, text: str) -> None:
    assert decode(content) == text


def test_a_declared_encoding_is_believed_only_where_it_fits() -> None:
    assert decode("日本".encode("shift_jis"), declared="shift_jis") == "日本"
    assert decode(PARAGRAPH.encode(), declared="ascii") == PARAGRAPH
    assert decode(PARAGRAPH.encode(), declared="no-such-encoding") == PARAGRAPH


@given(st.text())
@example("\ud800")
@example("Q: a\nA: b\n\nQ: c")
def test_no_text_is_lost_or_invented(source: str) -> None:
    content = source.encode("utf-8", "surrogatepass")
    if decode(content) != source:  # the bytes happen to start with another encoding's mark
        return
    if not squeezed(clean(source)):
        with pytest.raises(NoText):
            parse(content)
        return
    drawn = str.maketrans(dict.fromkeys("|-=~^*#+"))  # around cells, below headings
    assert squeezed(check(parse(content)).text).translate(drawn) == squeezed(clean(source)).translate(drawn)


@given(st.text())
def test_cleaning_twice_changes_nothing(source: str) -> None:
    assert clean(clean(source)) == clean(source)
    assert tidy(tidy(source)) == tidy(source)


@given(st.binary())
def test_any_bytes_become_text_that_can_be_stored(content: bytes) -> None:
    text = clean(decode(content))
    assert "\0" not in text
    text.encode()
