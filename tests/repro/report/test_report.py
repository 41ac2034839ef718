"""HTML, Markdown, table and verdict.json: the same bytes for the same run, nothing from outside, nothing unescaped."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from harness.result import CaseResult, RunResult, Verdict
from repro.report import html
from repro.report.folder import folder_files
from repro.report.html import fragment, page
from repro.report.markdown import summary
from repro.report.terminal import closing_lines, print_table
from repro.report.verdict import verdict_json
from repro.report.view import view_of
from repro.report.words import SIGN, percent
from repro.run_json import run_to_json

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Every tag with its attributes, the text, and whether tags nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def text(run_result: RunResult) -> str:
    return page(run_result, view_of(run_result))


@pytest.fixture(scope="module")
def bare(run_result: RunResult) -> RunResult:
    """The run without what its slowest pictures need."""
    evidence = {name: part for name, part in run_result.cases[0].evidence.items() if name != "cdf"}
    return replace(run_result, cases=(replace(run_result.cases[0], evidence=evidence), *run_result.cases[1:]))


def test_twice_the_same_bytes(bare: RunResult) -> None:
    first, second = folder_files(bare), folder_files(bare)
    first.pop("env.json")
    second.pop("env.json")
    assert first == second


def test_the_same_bytes_in_another_process(run_result: RunResult, text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(run_to_json(run_result))
    code = (
        "import sys\nfrom repro.run_json import run_from_json\nfrom repro.report.html import page\n"
        "from repro.report.view import view_of\nrun = run_from_json(open(sys.argv[1]).read())\n"
        "sys.stdout.buffer.write(page(run, view_of(run)).encode())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.json")], capture_output=True, check=True)
    assert done.stdout.decode() == text


def test_another_run_gives_another_page(bare: RunResult) -> None:
    other = replace(bare, suite="other")
    assert page(other, view_of(other)) != page(bare, view_of(bare))


def test_nothing_from_outside(text: str) -> None:
    seen = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|javascript:", text)
    assert {tag for tag, _ in seen.tags} & {"script", "link", "img", "iframe", "object", "embed", "base"} == set()
    for _, attributes in seen.tags:
        assert all(not name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert all(match.startswith("#") for match in re.findall(r"url\(([^)]*)", text))


def test_tags_nest_and_links_lead_somewhere(text: str) -> None:
    seen = Page(text)
    assert (seen.open, seen.wrong) == ([], [])
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes.get("href") or "" for _, attributes in seen.tags if "href" in attributes]
    assert {link[1:] for link in links} <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)


def test_hostile_names_are_text(text: str, hostile: str) -> None:
    assert "<script" not in text
    assert hostile in "".join(Page(text).texts)


def test_order_of_the_sections(text: str) -> None:
    order = ("compared", "first", "causes", "agreement", "pictures", "cases", "again", "json")
    places = [text.index(f'id="{name}"') for name in order]
    assert text.index("<header") < places[0]
    assert places == sorted(places)


def test_light_dark_narrow_and_print(text: str) -> None:
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert text.count('<svg class="wide"') == text.count('<svg class="narrow"') > 0
    assert not re.search(r"#00[0-9a-f]{2}fe", text), "a colour of a drawing stands for a variable"
    used = set(re.findall(r"var\(--([a-z0-9]+)\)", text))
    defined = re.findall(r"--([a-z0-9]+):", text)
    assert used <= set(defined)
    colours = {name for name in used if name not in ("sans", "mono", "tone")}
    assert all(defined.count(name) >= 2 for name in colours), "every colour has a light and a dark value"


def test_every_verdict_has_words_and_a_sign(run_result: RunResult) -> None:
    assert set(SIGN) == {verdict.value for verdict in Verdict}
    for verdict in Verdict:
        run = replace(run_result, cases=(CaseResult("x", verdict, "why", "a", "b", {}, ()),))
        view = view_of(run)
        assert verdict.value.replace("_", " ") in page(run, view)
        assert closing_lines(view, None)[0].startswith(f"verdict      {verdict.value}")


def test_a_run_of_nothing_is_empty_not_green() -> None:
    run = RunResult("none", {}, ())
    view = view_of(run)
    assert (view.verdict, view.exit_code) == ("empty", 5)
    assert "empty" in page(run, view)
    assert "empty" in summary(view)


def test_many_rows_are_cut_and_the_page_says_so(bare: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bare.cases[0]
    drawn = case.comparisons[0]
    assert drawn.attribution is not None
    many = tuple({**drawn.attribution.rows[0], "row": row} for row in range(3000))
    full = replace(drawn, differing=3000, attribution=replace(drawn.attribution, rows=many))
    run = replace(bare, cases=(replace(case, comparisons=(full,)),))
    text = page(run, view_of(run))
    assert len(text.encode()) < html.MAX_BYTES
    assert "2950 more of 3000 differing rows" in text
    monkeypatch.setattr(html, "MAX_BYTES", len(text.encode()) - 1000)
    smaller = page(run, view_of(run))
    assert len(smaller.encode()) < len(text.encode()) - 1000
    assert re.search(r"29[5-9][0-9] more of 3000 differing rows", smaller)


def test_fragment_is_the_page_s_body(bare: RunResult) -> None:
    text, part = page(bare, view_of(bare)), fragment(bare, view_of(bare))
    assert not re.search(r"<(html|head|body|!doctype)\b", part)
    assert part.split('<div class="repro">\n')[1].removesuffix("\n</div>") in text


def test_summary_is_markdown_without_html(run_result: RunResult, hostile: str) -> None:
    lines = summary(view_of(run_result)).splitlines()
    assert "not comparable" in lines[0]
    assert not any("<" in line for line in lines if not line.startswith("    "))
    tables = [line for line in lines if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in tables}
    assert len(bars) == 2, "no cell breaks out of its table: one count of bars for each of the two tables"


def test_verdict_json_follows_its_schema(run_result: RunResult) -> None:
    schema = json.loads((resources.files("repro.report") / "verdict.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(verdict_json(run_result))
    jsonschema.validate(data, schema)
    assert float.fromhex(data["cases"][0]["outputs"][0]["agreement"]["lower"]) == 0.2486
    data["cases"][0]["verdict"] = "green"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_plain_table_is_aligned_and_has_no_colour(run_result: RunResult) -> None:
    out = io.StringIO()
    print_table(view_of(run_result), out, verbose=True)
    lines = out.getvalue().splitlines()
    assert "\x1b" not in out.getvalue()
    assert len(run_result.cases) + 1 <= len(lines)
    column = lines[0].index("agreement (95 %)")
    assert lines[1][column:].startswith("75.0 % (30.1-95.4)")
    assert "missing in the candidate" in out.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", [False, True])
def test_terminal_table_honours_no_color(
    no_color: bool, run_result: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    print_table(view_of(run_result), out, verbose=False)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", out.getvalue())) is not no_color
    assert "75.0 % (30.1-95.4)" in out.getvalue()


def test_closing_lines_answer_four_questions(run_result: RunResult) -> None:
    lines = closing_lines(view_of(run_result), "out.repro")
    assert [line.split()[0] for line in lines] == ["verdict", "first", "causes", "next", "report"]
    assert "tokens[2]: 7 against 9: cause: the rejection limit" in lines[1]
    assert "1 rejection limit" in lines[2]
    assert lines[3].endswith("--row 2")
    assert "'\"'\"'" in lines[3], "the hostile name is quoted for the shell"
    assert lines[4].endswith("out.repro/report.html")


def test_percent_never_rounds_up_to_all() -> None:
    assert percent(1.0) == "100.0"
    assert percent(0.99951) == "99.95"
    assert percent(0.9999999) != "100.0"
    assert percent(0.5) == "50.0"
