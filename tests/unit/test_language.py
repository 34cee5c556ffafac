"""The language of a document, told by its text; or not told."""

from __future__ import annotations

import pytest

from documents.media_types import TEXT
from indexing.blocks import BlockKind
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("第一条 本办法适用于公司全体员工。", "zh"),
        ("員工請假應事先填寫請假單。", "zh"),
        ("使用 Docker Compose 部署 PostgreSQL 数据库，请先安装 docker-compose-plugin。", "zh"),
        ("“の”是日语里的助词，读作 no。本文介绍它的用法以及常见的错误。", "zh"),
        ("出張する者は、事前に申請書を提出しなければならない。", "ja"),
        ("サーバーのパスワード", "ja"),
        ("직원은 출장 전에 API 신청서를 작성하여 승인을 받아야 합니다.", "ko"),
        ("The request must be approved by the manager before you travel.", "en"),
        ("Use 支付宝 to pay for the ticket, and keep the receipt for your report.", "en"),
        ("Der Antrag ist spätestens fünf Tage vor der Reise bei der Leitung einzureichen und zu begründen.", "de"),
        ("La demande doit être présentée par le salarié avant le départ, et les frais sont remboursés.", "fr"),
        ("La solicitud se presenta antes de viajar y los gastos se pagan por la empresa.", "es"),
        ("A solicitação deve ser feita antes da viagem e não pode ser alterada por um colega.", "pt"),
        ("La richiesta deve essere presentata prima del viaggio e non può essere modificata da altri.", "it"),
        (
            "Wniosek należy złożyć przed wyjazdem i nie może on być zmieniony przez inne osoby, o ile nie jest to konieczne.",
            "pl",
        ),
        ("Заявление подаётся руководителю не позднее чем за три дня до поездки, и это правило для всех.", "ru"),
        ("Працівник повинен подати заяву до початку відпустки, і це правило для всіх, що працюють у відділі.", "uk"),
        ("Ο εργαζόμενος πρέπει να υποβάλει την αίτηση.", "el"),
        ("על העובד להגיש את הבקשה חמישה ימים מראש.", "he"),
        ("يجب على الموظف تقديم الطلب من خلال النظام في موعد لا يتجاوز خمسة أيام إلى المدير.", "ar"),
        ("พนักงานต้องยื่นคำขอล่วงหน้าห้าวัน", "th"),
        ("123 45.6 % — €", None),
        ("SKU-4411 PLX Kwu Zzt Brg", None),
        ("", None),
    ],
)
def test_by_script_and_common_words(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_most_of_a_long_text_decides_wherever_it_stands() -> None:
    english = "The request must be approved by the manager before you travel. " * 1_000
    chinese = "员工出差应当事先填写申请单，经批准后方可报销。" * 6_000
    assert language_of(english + chinese) == "zh"
    assert language_of(chinese[:2_000] + english * 3) == "en"


def test_every_document_has_it_unless_its_parser_knows_better() -> None:
    pieces = [Piece(BlockKind.PARAGRAPH, "员工出差应当事先填写申请单。")]
    assert assemble(TEXT, pieces).language == "zh"
    assert assemble(TEXT, pieces, language="zh-Hant").language == "zh-Hant"
