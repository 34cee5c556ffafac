"""What stays together, and what is repeated where it cannot: the same rules in Chinese and in English."""

from __future__ import annotations

import pytest

from indexing.blocks import BlockKind, Chunk
from indexing.locators import Locator
from indexing.parsers.assemble import Piece
from indexing.splitters.prose import clauses, restricts
from tests.unit.test_splitter import C, F, H, L, P, T, chunks_of, document

CAPTION, FORMULA, IMAGE = BlockKind.CAPTION, BlockKind.FORMULA, BlockKind.IMAGE_TEXT

EN_FILLER = Piece(P, " ".join(["filler"] * 33))
ZH_FILLER = Piece(P, "填充" * 14)


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


@pytest.mark.parametrize(
    ("filler", "rule", "exception"),
    [
        (ZH_FILLER, "员工出差可以乘坐高铁。", "但下列情形除外：单程不足一百公里。"),
        (ZH_FILLER, "年假应当在当年休完。", "除因工作需要经批准的以外，不得结转。"),
        (ZH_FILLER, "访客须由员工陪同。", "前款规定不适用于消防检查。"),
        (EN_FILLER, "Staff may travel by train.", "However, night trains need the approval of a manager."),
        (EN_FILLER, "Leave is taken within the year.", "Except where work forbids it, none is carried over."),
        (EN_FILLER, "Visitors are accompanied.", "This rule does not apply to inspectors."),
        (EN_FILLER, "The firm pays.", "Provided that receipts are handed in within a month."),
    ],
)
def test_a_rule_stays_with_its_exception(filler: Piece, rule: str, exception: str) -> None:
    """Whether the exception is the next sentence or the next paragraph."""
    assert restricts(exception)
    assert not restricts(rule)
    apart = chunks_of(document(filler, Piece(P, rule), Piece(P, exception)))
    assert texts(apart) == [filler.text, f"{rule}\n\n{exception}"]
    end, between = (". ", " ") if rule.endswith(".") else ("。", "")
    together = chunks_of(document(Piece(P, f"{filler.text}{end}{rule}{between}{exception}")))
    assert any(rule in text and exception in text for text in texts(together))


def test_what_only_looks_like_an_exception() -> None:
    for text in (
        "但凡员工都应当遵守。",
        "Butter is in the fridge.",
        "Exceptional work is praised.",
        "除法与乘法。",
        "Savings grow.",
    ):
        assert not restricts(text)


@pytest.mark.parametrize(
    ("lead", "items"),
    [
        ("下列费用可以报销，但娱乐除外：", ["（一）交通费", "（二）住宿费", "（三）餐费"]),
        ("The firm pays for the following, except fun:", ["(a) trains", "(b) hotels", "(c) meals"]),
    ],
)
def test_a_rule_stays_with_the_list_of_its_cases(lead: str, items: list[str]) -> None:
    filler = ZH_FILLER if "费" in lead else EN_FILLER
    found = texts(chunks_of(document(filler, Piece(P, lead), *(Piece(L, item) for item in items))))
    assert found == [filler.text, "\n\n".join([lead, *items])]


@pytest.mark.parametrize(
    ("before", "lead", "item"),
    [
        ("差旅由公司承担。", "下列人员可以乘坐飞机：", "（{n}）部门负责人及其以上职务的全体人员"),
        ("The firm pays.", "The following people may fly:", "({n}) the head of a department and all above"),
    ],
)
def test_in_a_long_list_every_chunk_says_what_is_listed(before: str, lead: str, item: str) -> None:
    items = [item.format(n=n) for n in range(1, 13)]
    between = " " if before.endswith(".") else ""
    found = chunks_of(document(Piece(P, f"{before}{between}{lead}"), *(Piece(L, text) for text in items)))
    assert len(found) > 2
    assert found[0].text.startswith(f"{before}{between}{lead}\n\n{items[0]}")
    assert all(chunk.text.startswith(f"{lead}\n{item[0]}") for chunk in found[1:])
    assert [line for text in texts(found) for line in text.split("\n") if line.startswith(item[0])] == items


def test_what_restricts_a_long_list_says_what_is_listed_too() -> None:
    items = [Piece(L, f"- item number {n} of these things here") for n in range(12)]
    source = document(Piece(P, "We pay for:"), *items, Piece(P, "However, never for fun."))
    last = chunks_of(source)[-1].text
    assert last.startswith("We pay for:\n")
    assert last.endswith("item number 11 of these things here\n\nHowever, never for fun.")


def test_a_paragraph_that_announces_nothing_is_not_repeated() -> None:
    items = [Piece(L, f"- item number {n} of these things here") for n in range(12)]
    found = chunks_of(document(Piece(P, "The firm was founded long ago."), *items))
    assert sum("founded" in text for text in texts(found)) == 1


@pytest.mark.parametrize("says_depth", [True, False])
@pytest.mark.parametrize(
    ("parent", "child", "next_parent"),
    [
        ("1. 报销材料包括", "（{n}）经部门负责人签字的第{n}份原始单据", "2. 其他"),
        ("1. Papers to hand in", "({n}) the signed original of paper number {n}", "2. Others"),
    ],
)
def test_a_nested_item_stays_with_the_one_it_is_in(parent: str, child: str, next_parent: str, says_depth: bool) -> None:
    def item(text: str, depth: int) -> Piece:
        return Piece(L, text, depth=depth if says_depth else None)

    children = [child.format(n=n) for n in range(1, 13)]
    pieces = [item(parent, 0), *(item(text, 1) for text in children), item(next_parent, 0)]
    found = texts(chunks_of(document(*pieces)))
    assert len(found) > 2
    assert found[0].startswith(f"{parent}\n\n{children[0]}")
    assert all(text.startswith((f"{parent}\n{child[0]}", next_parent)) for text in found[1:])


def test_a_nested_list_that_fits_is_not_cut() -> None:
    nested = [
        Piece(L, "1. 交通", depth=0),
        Piece(L, "高铁", depth=1),
        Piece(L, "飞机", depth=1),
        Piece(L, "2. 住宿", depth=0),
    ]
    filler = Piece(P, "填充" * 16)
    assert texts(chunks_of(document(filler, *nested)))[-1].startswith("1. 交通\n\n高铁\n\n飞机")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("问：怎样申请年假？", "第{n}步请先填写申请表格。"),
        ("Q: How do I ask for leave?", "Step {n} is to fill in form {n}."),
    ],
)
def test_every_part_of_an_answer_has_its_question(question: str, sentence: str) -> None:
    between = " " if sentence.endswith(".") else ""
    answer = between.join(sentence.format(n=n) for n in range(1, 15))
    found = texts(chunks_of(document(Piece(F, f"{question}\n{'答：' if '答' in question else 'A: '}{answer}"))))
    assert len(found) > 2
    assert all(text.startswith(f"{question}\n") for text in found)


@pytest.mark.parametrize(
    ("above", "header", "row"),
    [
        (["表3 差旅标准", "单位：元"], ("城市", "住宿"), ("城市{n}号", "每晚不超过{n}百元")),
        (
            ["Table 3. Travel rates", "in thousands of euros"],
            ("City", "Hotel"),
            ("City number {n}", "up to {n} a night"),
        ),
    ],
)
def test_every_part_of_a_table_has_caption_unit_and_header(
    above: list[str], header: tuple[str, str], row: tuple[str, str]
) -> None:
    rows = [tuple(cell.format(n=n) for cell in row) for n in range(1, 12)]
    pieces = [*(Piece(P, text) for text in above), Piece(T, rows=(header, *rows), header_rows=1)]
    found = chunks_of(document(*pieces), budget=60)
    head = "\n\n".join([*above, " | ".join(header)])
    assert len(found) > 2
    assert all(text.startswith(f"{head}\n{rows[0][0][:2]}") for text in texts(found))
    assert [
        line for text in texts(found) for line in text.split("\n") if " | " in line and line != " | ".join(header)
    ] == [" | ".join(cells) for cells in rows]


@pytest.mark.parametrize(
    ("header", "label", "sentence"),
    [
        (("项目", "规定"), "住宿", "第{n}类城市每晚限额另行规定。"),
        (("Item", "Rule"), "Hotel", "City of class {n} has its own limit."),
    ],
)
def test_a_long_cell_is_cut_inside_its_row(header: tuple[str, str], label: str, sentence: str) -> None:
    between = " " if sentence.endswith(".") else ""
    cell = between.join(sentence.format(n=n) for n in range(1, 13))
    found = chunks_of(document(Piece(T, rows=(header, (label, cell)), header_rows=1)))
    head = " | ".join(header)
    assert len(found) > 2
    assert found[0].text.startswith(f"{head}\n{label} | {sentence[0]}")
    assert all(chunk.text.startswith(f"{head}\n{label}\n{sentence[0]}") for chunk in found[1:])
    assert all(chunk.text.endswith(sentence[-1]) for chunk in found)


@pytest.mark.parametrize("kind", [T, FORMULA, IMAGE])
@pytest.mark.parametrize("caption", ["图2 审批流程", "Figure 2: who approves"])
def test_a_caption_stays_with_what_it_names(kind: BlockKind, caption: str) -> None:
    thing = Piece(T, rows=(("a", "b"), ("c", "d")), header_rows=1) if kind is T else Piece(kind, "E = m c")
    shown = "a | b\nc | d" if kind is T else "E = m c"
    filler = Piece(P, " ".join(["filler"] * 33))
    assert texts(chunks_of(document(filler, Piece(CAPTION, caption), thing))) == [filler.text, f"{caption}\n\n{shown}"]
    assert texts(chunks_of(document(filler, thing, Piece(CAPTION, caption)))) == [filler.text, f"{shown}\n\n{caption}"]


@pytest.mark.parametrize("words", ["其中，E 为能量，m 为质量。", "where E is energy and m is mass."])
def test_a_formula_is_not_cut_and_stays_with_the_words_around_it(words: str) -> None:
    formula = " + ".join(f"x{n}" for n in range(8))
    lead = "按下式计算：" if "其中" in words else "It is computed so:"
    filler = Piece(P, " ".join(["filler"] * 17))
    found = texts(chunks_of(document(filler, Piece(P, lead), Piece(FORMULA, formula), Piece(P, words)), budget=45))
    assert found == [filler.text, f"{lead}\n\n{formula}\n\n{words}"]


def test_a_function_that_fits_is_not_cut() -> None:
    functions = [f"def f{n}(a, b):\n    c = a + b\n    return c" for n in range(6)]
    found = texts(chunks_of(document(Piece(C, "\n\n\n".join(functions)))))
    assert len(found) > 1
    assert all(any(function in text for text in found) for function in functions)


@pytest.mark.parametrize(
    ("signature", "line", "end"),
    [
        ("def 计算(金额, 税率):", "    金额 = 金额 + 税率  # 第{n}步", ""),
        ("public static int add(int a, int b) {", "    a = a + b;  // step {n}", "}"),
    ],
)
def test_every_part_of_a_long_function_has_its_signature(signature: str, line: str, end: str) -> None:
    body = [line.format(n=n) for n in range(1, 21)]
    found = chunks_of(document(Piece(C, "\n".join([signature, *body, *([end] if end else [])]))))
    assert len(found) > 2
    assert all(text.startswith(f"{signature}\n") for text in texts(found))
    assert sum(text.count("步") + text.count("step") for text in texts(found)) == 20


def test_a_method_has_the_names_of_its_class_and_its_own() -> None:
    body = "\n".join(f"        self.total += {n} * weight" for n in range(16))
    code = f"class Account:\n    owner = None\n\n    # Adds up.\n    def total(self, weight):\n{body}"
    found = texts(chunks_of(document(Piece(C, code)), budget=50))
    assert len(found) > 1
    assert all(text.startswith("class Account:\n    def total(self, weight):\n        ") for text in found[1:])


@pytest.mark.parametrize("place", ["sheet", "slide"])
def test_no_chunk_crosses_a_sheet_or_a_slide(place: str) -> None:
    def piece(text: str, number: int) -> Piece:
        return Piece(P, text, sheet=f"S{number}") if place == "sheet" else Piece(P, text, slide=number)

    source = document(piece("一", 1), piece("two", 1), piece("三", 2))
    assert [(c.text, c.locator.sheet, c.locator.slide) for c in chunks_of(source)] == [
        ("一\n\ntwo", "S1" if place == "sheet" else None, 1 if place == "slide" else None),
        ("三", "S2" if place == "sheet" else None, 2 if place == "slide" else None),
    ]


@pytest.mark.parametrize("clause", ["违反本条的，处以罚款。", "Whoever breaks this rule pays."])
def test_clauses_of_equal_text_stay_apart(clause: str) -> None:
    source = document(*(piece for n in range(3) for piece in (Piece(H, f"Article {n}", level=1), Piece(P, clause))))
    found = chunks_of(source)
    assert texts(found) == [clause] * 3
    assert len({chunk.locator.span for chunk in found}) == 3
    assert chunks_of(document(*(Piece(P, clause) for _ in range(3))))[0].text.count(clause) == 3


def test_a_heading_that_the_context_has_no_room_for_is_text() -> None:
    heading = " ".join(f"w{n}" for n in range(20))
    inner = " ".join(f"v{n}" for n in range(7))
    source = document(Piece(H, heading, level=1), Piece(H, inner, level=2), Piece(P, "body"))
    found = chunks_of(source)
    assert texts(found) == [f"{heading}\n\n{inner}\n\nbody"]
    assert found[0].context == inner


def test_text_read_from_a_picture_is_cut_like_a_paragraph() -> None:
    text = "".join(f"第{number}条规定员工应当遵守。" for number in "一二三四五六")
    assert all(found.endswith("。") for found in texts(chunks_of(document(Piece(IMAGE, text, confidence=0.9)))))


def test_clauses() -> None:
    text = "甲。但乙除外。丙。Pay is due. However, not now. See:\nthe list"
    assert ["".join(text[s:e] for s, e in clause) for clause in clauses(text, 0, len(text))] == [
        "甲。但乙除外。",
        "丙。",
        "Pay is due. However, not now. ",
        "See:\nthe list",
    ]


def test_the_place_of_a_chunk_of_a_section_is_its_own() -> None:
    source = document(
        Piece(P, "one", page=1), Piece(P, "two", page=2), Piece(H, "x", level=1, page=2), Piece(P, "y", page=3)
    )
    assert [c.locator for c in chunks_of(source)] == [
        Locator((0, 8), page=1, page_end=2),
        Locator((13, 14), page=3),
    ]


def test_headings_of_several_sheets_that_the_context_has_no_room_for_stay_in_order() -> None:
    words = " ".join(f"w{n}" for n in range(20))
    source = document(
        Piece(P, "first", sheet="A"),
        Piece(H, f"{words} a", level=1, sheet="A"),
        Piece(H, f"{words} b", level=2, sheet="B"),
        Piece(P, "body", sheet="A"),
    )
    assert texts(chunks_of(source)) == ["first", f"{words} a", f"{words} b", "body"]
