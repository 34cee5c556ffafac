"""Number formats that files of Excel name by number only. Pure.

Source: ECMA-376 part 1, 18.8.30: those for all languages, and of those that depend on one the Chinese (zh-cn).
"""

from __future__ import annotations

from indexing.parsers.date_formats import SHORT_DATE

GENERAL = "General"

_FOR_ALL = {
    0: GENERAL,
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);[Red]("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);[Red]("$"#,##0.00)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: SHORT_DATE,
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",  # the short date again, in full
    37: "#,##0_);(#,##0)",
    38: "#,##0_);[Red](#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);[Red](#,##0.00)",
    **dict.fromkeys(
        (41, 42), '#,##0;(#,##0);"-"'
    ),  # accounting; 42 and 44 with a currency that only the reader's system knows
    **dict.fromkeys((43, 44), '#,##0.00;(#,##0.00);"-"'),
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
}
_CHINESE = {
    **dict.fromkeys((27, 36, 50, 52, 57), 'yyyy"年"m"月"'),
    **dict.fromkeys((28, 29, 51, 53, 54, 58), 'm"月"d"日"'),
    30: SHORT_DATE,
    31: 'yyyy"年"m"月"d"日"',
    32: 'h"时"mm"分"',
    33: 'h"时"mm"分"ss"秒"',
    **dict.fromkeys((34, 55), '上午/下午h"时"mm"分"'),
    **dict.fromkeys((35, 56), '上午/下午h"时"mm"分"ss"秒"'),
}
BUILTIN = _FOR_ALL | _CHINESE
