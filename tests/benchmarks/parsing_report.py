"""What `bench_parsing` tells of its files: sums by format, and where another tool is better. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

MEASURES = ("text", "wordRecall", "wordPrecision", "cells", "relations", "headings", "headingLevels", "order")
EQUAL = 0.02
"""A tool reads as well as ours where none of these means is so much lower."""
NOTED = 0.01
"""So much better another tool must be on a file to be named."""

Results = Sequence[dict[str, Any]]


def summary(results: Results, peers: Sequence[str]) -> dict[str, Any]:
    places = [result["places"] for result in results if "places" in result]
    failed = sum(len(place["failed"]) for place in places)
    checked = failed + sum(place["found"] for place in places)
    formats = defaultdict[str, list[dict[str, Any]]](list)
    for result in results:
        formats[result["format"]].append(result)
    return {
        "files": len(results),
        "codes": dict(Counter(result["code"] for result in results).most_common()),
        "crashed": [result["file"] for result in results if result["code"] == "PARSE_CRASHED"],
        "placesChecked": checked,
        "placesFailed": failed,
        "placesNotCheckable": sum(place["notCheckable"] for place in places),
        "placesFound": round(1 - failed / checked, 4) if checked else None,
        "formats": {name: _of_format(formats[name], peers) for name in sorted(formats)},
        "better": list(better(results)),
    }


def _of_format(results: Results, peers: Sequence[str]) -> dict[str, Any]:
    read = [result for result in results if result["code"] == "OK"]
    means = {tool: _means(results, tool) for tool in ("kb", "kb (Markdown)", *peers)}
    return {
        "files": len(results),
        "read": len(read),
        "gaps": sum(len(result.get("gaps", ())) for result in results),
        "secondsPerPage": _round(_per_page(read, "kbParse")),
        "secondsInChildPerPage": _round(_per_page(read, "kbChild")),
        "scores": means,
        "times": {peer: _times(read, peer, means) for peer in peers},
    }


def _means(results: Results, tool: str) -> dict[str, float]:
    found = {}
    for measure in MEASURES:
        # Where one tool has a measure and another has not (no order without two runs in common), the other has 0.
        scored = [r for r in results if any(measure in told for told in r.get("scores", {}).values())]
        if scored:
            found[measure] = round(sum(r["scores"][tool].get(measure, 0.0) for r in scored) / len(scored), 3)
    return found


def _times(read: Results, peer: str, means: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Over the files that both could read."""
    both = [result for result in read if result["peers"].get(peer, {}).get("code") == "OK" and result.get("kbParse")]
    if not both:
        return {"files": 0}
    pages = sum(result.get("pages") or 1 for result in both)
    theirs = sum(result["peers"][peer]["seconds"] for result in both)
    ours = sum(result["kbParse"] for result in both)
    equal = all(means[peer].get(name, 0.0) >= value - EQUAL for name, value in means["kb"].items())
    return {
        "files": len(both),
        "secondsPerPage": _round(theirs / pages),
        "kbSecondsPerPage": _round(ours / pages),
        "ratio": _round(ours / theirs),
        "equalQuality": equal if means["kb"] else None,
    }


def better(results: Results) -> Iterator[dict[str, Any]]:
    """Each measure of each file in which another tool is better, the greatest lead first."""
    found = []
    for result in results:
        told = result.get("scores", {})
        for measure in MEASURES:
            others = {name: s[measure] for name, s in told.items() if name[:2] != "kb" and measure in s}
            if not others:
                continue
            best = max(others, key=lambda name: others[name])
            ours = told["kb"].get(measure, 0.0)
            if others[best] > ours + NOTED:
                lead = {"file": result["file"], "measure": measure, "kb": round(ours, 3)}
                found.append(lead | {"peer": best, "theirs": round(others[best], 3)})
    yield from sorted(found, key=lambda lead: lead["kb"] - lead["theirs"])


def text_report(report: dict[str, Any]) -> str:
    whole = report["summary"]
    lines = []
    for name in whole["crashed"]:
        lines.append(f"THE PARSER CRASHED on {name}")
    for name, peer in report["peers"].items():
        lines.append(f"ABSENT: {name}, {peer['absent']}" if "absent" in peer else f"Beside: {name} {peer['version']}")
    codes = ", ".join(f"{count} {code}" for code, count in whole["codes"].items())
    lines.append(f"{whole['files']} files: {codes}")
    lines.append(
        f"Places: {whole['placesChecked']} checked, {whole['placesFailed']} failed, "
        f"{whole['placesNotCheckable']} not checkable"
    )
    for name, told in whole["formats"].items():
        lines += _format_lines(name, told)
    if report["peers"]:
        lines += ["", "Where another tool is better:" if whole["better"] else "No other tool is better anywhere."]
    for lead in whole["better"]:
        lines.append(f"  {lead['measure']:<13} {lead['kb']:.3f}  {lead['peer']} {lead['theirs']:.3f}  {lead['file']}")
    lines += ["", f"{'file':<44} {'code':<22} child s  parse s pages blocks chunks failed gaps"]
    lines += [_file_line(result) for result in report["files"]]
    return "\n".join(lines)


def _format_lines(name: str, told: dict[str, Any]) -> list[str]:
    scored = told["scores"]
    tools = list(scored)
    lines = ["", f"{name}: {told['read']} of {told['files']} files read, {told['gaps']} gaps"]
    if scored["kb"]:
        lines.append(f"  {'':<15}" + "".join(f"{tool:>15}" for tool in tools))
    for measure in scored["kb"]:
        best = max(scored[tool].get(measure, 0.0) for tool in tools)
        values = [scored[tool].get(measure, 0.0) for tool in tools]
        lines.append(f"  {measure:<15}" + "".join(f"{value:>14.3f}{'*' if value == best else ' '}" for value in values))
    lines.append(f"  seconds a page: {told['secondsPerPage']}, in the locked process {told['secondsInChildPerPage']}")
    for peer, times in told["times"].items():
        if times["files"]:
            equal = {True: "reads as well", False: "reads less well", None: "no truth"}[times["equalQuality"]]
            lines.append(
                f"  {peer}: {times['secondsPerPage']} beside our {times['kbSecondsPerPage']} on {times['files']} files: "
                f"we take {times['ratio']} × its time ({equal})"
            )
    return lines


def _file_line(result: dict[str, Any]) -> str:
    failed = len(result["places"]["failed"]) if "places" in result else ""
    seconds = [f"{result[name]:8.3f}" if result.get(name) else " " * 8 for name in ("kbChild", "kbParse")]
    counts = [str(result.get(name) if result.get(name) is not None else "") for name in ("pages", "blocks", "chunks")]
    gaps = len(result.get("gaps", ()))
    return (
        f"{result['file']:<44} {result['code']:<22}{''.join(seconds)} {counts[0]:>5} {counts[1]:>6} {counts[2]:>6} "
        f"{failed:>6} {gaps:>4}"
    )


def _per_page(results: Results, name: str) -> float | None:
    timed = [result for result in results if result.get(name)]
    pages = sum(result.get("pages") or 1 for result in timed)
    return sum(result[name] for result in timed) / pages if pages else None


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
