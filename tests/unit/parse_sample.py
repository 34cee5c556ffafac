"""Files of the formats that can be written down here, and what each is parsed and split to on every machine and Python.

Imports no test library, so that any Python with the parsers' own can run it. Pictures are not among them: their text is the
work of a model in floating point. `python -m tests.unit.parse_sample` prints what belongs into `parse_fingerprints.json`.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

from documents.media_types import BY_EXTENSION
from indexing.embedders.estimate import upper_estimate
from indexing.parsers import parse
from indexing.splitters import split

SAMPLES = Path(__file__).resolve().parents[2] / "kbsite" / "demo" / "samples"
DAMAGED = "quarterly-report-damaged.pdf"  # is refused

_TEXT = """\
第一章 总则

第一条 为了规范员工休假，保障员工休息的权利，制定本办法。

1.1 Scope

This policy applies to all employees. However, it does not apply to trainees, who are covered by
their own agreements and may ask the personnel department for a copy of them at any time.

City        Max     Note
北京        600     incl. tax
Shanghai    650     none

Q: Who pays?
A: The company.
"""
_MARKDOWN = """\
---
title: 差旅 Travel
---

# 报销

- first
  - nested **bold**

| City | Max |
|------|-----|
| 北京 | 600 |

<div hidden>

draft

</div>

```python
x = 1
```

Note[^1] with $a^2$.

[^1]: In full.
"""
_HTML = """\
<!doctype html><html lang=zh><title>安全 Safety</title><nav><a href=/>首页</a></nav><main><h1>规则</h1>
<p>Wear a <b>helmet</b>.<br>请戴安全帽。</p><table><tr><th>Kind<th>天数<tr><td rowspan=2>年假<td>15<tr><td>5</table>
<details><summary>Who?</summary>All.</details><pre><code class=language-c>int x;</code></pre><p hidden>x</p></main>
"""
_JSON = """\
{"name": "手册", "limits": [{"city": "北京", "max": 600}, {"city": "Bonn", "max": 99.50}],
 "faq": [{"question": "怎么办？", "answer": "问人事部。"}], "empty": {}, "a": {"b": {"c": {"d": {"e": {"f": [1, {}]}}}}}}
"""
_CSV = '城市,Max,Day\n北京,600,2024-05-01\n"Frankfurt, Main",650,2024-05-02\n'

CODE = {
    ".py": "# 休假\nclass Leave:\n    def days(self):\n        return 15\n\n\ndef other(a, b=1):\n    return [a, b]\n",
    ".js": "// a shop\nexport class Cart {\n  add(item) { this.items.push(item); }\n}\nconst sum = (a, b) => a + b;\n",
    ".ts": "interface Item { name: string }\nexport function total(items: Item[]): number {\n  return items.length;\n}\n",
    ".tsx": "export function View(props: {name: string}) {\n  return <p>{props.name}</p>;\n}\n",
    ".java": "package a;\n/** 订单 */\nclass Order {\n  int total() { return 1; }\n  static class Line { }\n}\n",
    ".go": "package main\n\n// Add adds.\nfunc (c *Cart) Add(n int) error {\n\treturn nil\n}\n\ntype Cart struct{ n int }\n",
    ".rs": "/// A cart.\nstruct Cart { n: u8 }\nimpl Cart {\n    fn add(&mut self) { self.n += 1; }\n}\n",
    ".c": "#ifdef A\nstruct cart { int n; };\n#endif\nchar *(*name(int a))[3] {\n  return 0;\n}\n",
    ".cpp": "namespace shop {\ntemplate <class T> class Cart {\n  void add(T t) { }\n};\n}\nint shop::run() { return 1; }\n",
    ".cs": "namespace Shop;\n[Old]\npublic record Cart(int N) {\n  public int Total() => N;\n}\n",
    ".rb": "module Shop\n  # 购物车\n  class Cart\n    def add(n) = @n = n\n  end\nend\n",
    ".php": "<?php\nnamespace Shop;\nclass Cart {\n  function add(int $n) { $this->n = $n; }\n}\n",
    ".sh": "#!/bin/sh\n# deploy\ndeploy() {\n  echo \"$1\" | tee log\n}\ndeploy now\n",
    ".yaml": "name: 服务\nsteps:\n  - run: make\n\nother:\n  key: [1, 2]\n",
    ".sql": "-- 城市\ncreate table city (\n  name text not null\n);\n\nselect * from city;\n",
}  # fmt: skip

_SHEET = """\
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="inlineStr"><is><t>城市</t></is></c><c r="B1" t="inlineStr"><is><t>Max</t></is></c></row>
<row r="2"><c r="A2" t="inlineStr"><is><t>北京</t></is></c><c r="B2"><v>600.5</v></c></row>
<row r="3"><c r="A3" t="inlineStr"><is><t>Bonn</t></is></c><c r="B3"><v>7</v></c></row>
</sheetData></worksheet>"""
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XLSX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{_OFFICE}"><sheets><sheet name="价格" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": _SHEET,
}
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_ODS = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    "content.xml": f'<o:document-content xmlns:o="{_ODF}office:1.0" xmlns:t="{_ODF}table:1.0" xmlns:x="{_ODF}text:1.0">'
    '<o:body><o:spreadsheet><t:table t:name="表"><t:table-row><t:table-cell o:value-type="string"><x:p>城市</x:p>'
    '</t:table-cell><t:table-cell o:value-type="string"><x:p>Max</x:p></t:table-cell></t:table-row><t:table-row>'
    '<t:table-cell o:value-type="string"><x:p>北京</x:p></t:table-cell><t:table-cell o:value-type="float" o:value="600">'
    "<x:p>600</x:p></t:table-cell></t:table-row></t:table></o:spreadsheet></o:body></o:document-content>",
}


def files() -> dict[str, bytes]:
    """By name: those written here, and those of the demo."""
    texts = {"a.txt": _TEXT, "a.md": _MARKDOWN, "a.html": _HTML, "a.json": _JSON, "a.csv": _CSV}
    texts |= {f"a{extension}": source for extension, source in CODE.items()}
    found = {name: text.encode() for name, text in texts.items()}
    found["gb18030.txt"] = _TEXT.encode("gb18030")
    found |= {"a.xlsx": _package(_XLSX), "a.ods": _package(_ODS), "a.docx": _word(), "a.pptx": _slides()}
    apart = ("manifest.json", DAMAGED)
    demo = (path for path in sorted(SAMPLES.glob("[!.]*")) if path.name not in apart)
    return found | {path.name: path.read_bytes() for path in demo}


def _package(parts: dict[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as package:
        for name, content in parts.items():
            package.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()


def _word() -> bytes:
    import docx

    document, written = docx.Document(), io.BytesIO()
    document.add_heading("报销 Expenses", 1)
    document.add_paragraph("员工应当在十五日内报销。")
    document.add_paragraph("Keep receipts", style="List Number")
    table = document.add_table(2, 2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ("城市", "Max", "北京", "600"), strict=True
    ):
        cell.text = text
    document.save(written)
    return written.getvalue()


def _slides() -> bytes:
    import pptx

    show, written = pptx.Presentation(), io.BytesIO()
    slide = show.slides.add_slide(show.slide_layouts[1])
    for shape, text in zip(slide.placeholders, ("销售 Sales", "第一点\nsecond"), strict=True):
        shape.text = text
    show.save(written)
    return written.getvalue()


def fingerprints() -> dict[str, str]:
    found = {}
    for name, content in files().items():
        document = parse(content, BY_EXTENSION[Path(name).suffix], name)
        chunks = split(document, title=name, count_tokens=upper_estimate, budget=80)
        told = [document.to_json(), [[chunk.to_json(), chunk.context] for chunk in chunks]]
        found[name] = hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fingerprints(), indent=2) + "\n")
