"""The written report: escaped, self-contained, whole, and the same for the same inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import UsageError
from pyrite.measure.bench import measure_bench
from pyrite.records import Verdict
from pyrite.report.write import Written, write
from pyrite.store.bench import Bench

SCRIPT = "<script>alert(1)</script>"
YES, NO = Verdict.SUCCESS, Verdict.FAILURE


def written(bench: Bench, **options: Any) -> Written:
    return write(bench, measure_bench(bench), options={"seed": 0, **options})


def page_of(lab: Any, bench: Bench) -> Any:
    return lab.page(written(bench).html.read_text(encoding="utf-8"))


def strict(document: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(document, parse_constant=refuse)


def test_the_page_of_the_four_endings(lab: Any) -> None:
    bench = lab.four()
    done = written(bench)
    text = done.html.read_text(encoding="utf-8")
    page = lab.page(text)
    lab.safe(page)
    assert "http" not in text.replace("http-equiv", "")
    assert "Content-Security-Policy" in text
    assert "default-src 'none'" in text
    assert "url(" not in text.replace("url(#hatch)", "")
    assert "100 of 76,800" in page.text
    assert "1 of 3" in page.text
    assert "F-UNCOMMITTED" in page.text
    assert "These episodes are perturbed, not of an agent under test" in page.text
    assert sum(tag == "img" for tag, _ in page.tags) == 6
    assert all(attributes.get("alt") for tag, attributes in page.tags if tag == "img")
    levels = [level for level, _ in page.tags if level in {"h1", "h2"}]
    assert levels == ["h1", *["h2"] * (len(levels) - 1)]
    found = strict(done.json.read_text(encoding="utf-8"))
    assert found["options"] == {"seed": 0}
    assert found["finding"] == done.finding
    assert found["lock_sha256"] == measure_bench(bench)["lock_sha256"]
    assert found["endings"]["shown"][1]["pixels_from_saved"] == 100
    assert not done.undecided
    assert done.html_bytes == len(text.encode())
    assert (done.html, done.json) == (bench.paths.report_html, bench.paths.report_json)


def test_the_page_says_which_model_a_judge_asked_and_its_licence(lab: Any) -> None:
    bench = lab.four()
    file = {"file_sha256": "5" * 64, "licence": "UNKNOWN", "note": "chance-level smoke model"}
    bench.update_lock(
        judges={
            "vlm@eyes=ocr": {"model": f"tiny {SCRIPT}", **file},
            "vlm": {"model": "hosted-9"},
            "claim": {"rule": "x"},
            "odd": {"model": 7},
        }
    )
    done = written(bench)
    page = lab.page(done.html.read_text(encoding="utf-8"))
    lab.safe(page)
    assert f"licence UNKNOWN, sha256 {'5' * 64}; chance-level smoke model" in page.text
    found = strict(done.json.read_text(encoding="utf-8"))["inputs"]["models"]
    assert [one["judge"] for one in found] == ["vlm", "vlm@eyes=ocr"]
    assert found[0] == {"judge": "vlm", "model": "hosted-9", "sha256": None, "licence": None, "note": None}


def test_every_svg_says_what_it_shows(lab: Any) -> None:
    text = written(lab.four()).html.read_text(encoding="utf-8")
    for found in re.findall(r"<svg[^>]*>(?:<title>[^<]+</title>)?", text):
        named = "<title>" in found or "aria-label=" in found or 'aria-hidden="true"' in found
        assert named or 'overflow="visible"' in found, found


@pytest.mark.parametrize(
    "hostile",
    [
        SCRIPT,
        "\"><img src=x onerror='alert(1)'>",
        "name with 'quotes' and \"more\"\nand a line\u202eexe.txt\x1b[31m",
        "{{ 7 * 7 }}{% raw %}</style></title></svg>",
        "&lt;b&gt; &amp; ]]> --> <!--",
    ],
)
def test_hostile_text_is_text(lab: Any, hostile: str) -> None:
    made = lab.made
    bench = lab.bench(
        [
            made(
                "e1",
                agent=hostile,
                message=hostile,
                perturbation=hostile,
                screen=lab.screen(),
                diagnostics={"file": hostile, hostile: [hostile, {"a": None}]},
            ),
            made("e2", agent=hostile, message=hostile, outcome="fail", category="F-UNCOMMITTED"),
            made("e3", agent=hostile, message=hostile, outcome="indeterminate", cause=hostile),
        ],
        name="a <b> 'bench'",
        instruction=hostile,
    )
    lab.judge(bench, hostile, {"e1": YES, "e2": YES, "e3": NO}, reason=hostile, condition=hostile)
    page = page_of(lab, bench)
    lab.safe(page)
    assert "\\u202e" in page.text or "\u202e" not in hostile
    assert page.text.count(hostile.split("\n")[0][:12]) >= 5


def test_a_file_name_with_quotes_and_a_newline_is_shown_escaped(lab: Any) -> None:
    name = "Documents/\"a\"\n'b'<script>.ods"
    page_text = written(lab.bench([lab.made("e1", diagnostics={"file": name})])).html.read_text(
        encoding="utf-8"
    )
    assert "Documents/&#34;a&#34;\\n&#39;b&#39;&lt;script&gt;.ods" in page_text
    lab.safe(lab.page(page_text))


def test_a_huge_message_is_cut_with_a_count_and_none_is_null(lab: Any) -> None:
    bench = lab.bench([lab.made("e1", message="x" * 100_000), lab.made("e2", message=None)])
    page = page_of(lab, bench)
    assert "(99,600 more characters)" in page.text
    assert "x" * 401 not in page.text
    assert len(page.text) < 20_000


def _nothing(lab: Any) -> Iterable[tuple[str, Bench, str]]:
    made = lab.made
    yield (
        "no judge",
        lab.bench([made("e1"), made("e2", outcome="fail", category="F-CLAIM")], name="a"),
        "No judge was asked",
    )
    passed = lab.bench([made("e1"), made("e2")], name="b")
    lab.judge(passed, "vlm", {"e1": YES, "e2": NO})
    yield "no failure", passed, "null: none failed"
    lost = lab.bench(
        [made(f"e{i}", outcome="indeterminate", cause="gold_failed") for i in range(3)], name="c"
    )
    lab.judge(lost, "vlm", {"e0": YES, "e1": NO})
    yield "indeterminate", lost, "null: no determinate outcome"
    silent = lab.bench([made("e1"), made("e2", outcome="fail", category=None)], name="d")
    lab.judge(silent, "vlm", {"e1": Verdict.UNCERTAIN, "e2": Verdict.PARSE_ERROR}, status="malformed")
    yield "only parse errors", silent, "no one category"
    missing = lab.bench([made("e1"), made("e2", outcome="fail", source="weakened")], name="e")
    lab.judge(missing, "vlm", {"e1": YES, "e2": None})
    yield "a stratum without verdicts", missing, "no verdict"


def test_a_bench_with_nothing_to_say_is_a_page_of_nulls(lab: Any) -> None:
    for name, bench, expected in _nothing(lab):
        done = written(bench)
        text = done.html.read_text(encoding="utf-8")
        page = lab.page(text)
        lab.safe(page)
        assert expected in page.text, name
        assert not re.search(r"\b(NaN|nan|None|inf)\b", page.text), name
        strict(done.json.read_text(encoding="utf-8"))


def test_all_indeterminate_is_undecided_and_says_why(lab: Any) -> None:
    bench = lab.bench([lab.made(f"e{i}", outcome="indeterminate", cause="gold_failed") for i in range(3)])
    done = written(bench)
    assert done.undecided
    page = lab.page(done.html.read_text(encoding="utf-8"))
    assert "gold_failed" in page.text
    assert "bounds 0.0 to 100.0" in page.text
    assert "null: no determinate outcome" in page.text


def test_under_ten_episodes_there_are_counts_and_no_rate(lab: Any) -> None:
    made = lab.made
    few = [made(f"e{i}", outcome="fail", category="F-CLAIM", task_id=f"t{i}") for i in range(9)]
    bench = lab.bench([*few, made("p", task_id="p")])
    lab.judge(bench, "vlm", {f"e{i}": YES if i < 2 else NO for i in range(9)} | {"p": YES})
    page = page_of(lab, bench)
    assert "2 / 9" in page.text
    assert "n < 10, no rate" in page.text


def test_equal_inputs_give_equal_bytes(lab: Any) -> None:
    bench = lab.four()
    first = written(bench)
    before = first.html.read_bytes(), first.json.read_bytes()
    again = written(bench)
    assert (again.html.read_bytes(), again.json.read_bytes()) == before


def test_the_digests_are_blind_to_times_and_to_the_order_of_answers(lab: Any) -> None:
    bench = lab.four()
    before = strict(written(bench).json.read_text(encoding="utf-8"))["inputs"]
    path = bench.paths.verdict_file("screen-rules", "E1-final")
    lines = path.read_text(encoding="utf-8").replace("2026-01-03", "2027-01-03").splitlines()
    path.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    assert strict(written(bench).json.read_text(encoding="utf-8"))["inputs"] == before
    path.write_text("\n".join(lines).replace('"uncertain"', '"failure"') + "\n", encoding="utf-8")
    after = strict(written(bench).json.read_text(encoding="utf-8"))["inputs"]
    assert after["verdicts_sha256"] != before["verdicts_sha256"]
    assert after["episodes_sha256"] == before["episodes_sha256"]


def test_other_options_do_not_overwrite_a_report_without_force(lab: Any) -> None:
    bench = lab.four()
    result = measure_bench(bench)
    done = write(bench, result, options={"seed": 0, "old": [1]})
    before = done.html.read_bytes(), done.json.read_bytes()
    with pytest.raises(UsageError) as caught:
        write(bench, result, options={"seed": 7, "new": "x"})
    assert "seed: 0 there, 7 now" in str(caught.value)
    assert "old: [1] there, not given now" in str(caught.value)
    assert 'new: not given there, "x" now' in str(caught.value)
    assert "--force" in str(caught.value)
    assert (done.html.read_bytes(), done.json.read_bytes()) == before
    write(bench, result, options={"seed": 0, "old": (1,)})
    write(bench, result, options={"seed": 7}, force=True)
    assert strict(done.json.read_text(encoding="utf-8"))["options"] == {"seed": 7}


@pytest.mark.parametrize("there", ["{}", "[1]", "not json", '{"options": 3}'])
def test_a_foreign_file_is_not_overwritten_without_force(lab: Any, there: str) -> None:
    bench = lab.four()
    bench.paths.report_json.write_text(there, encoding="utf-8")
    with pytest.raises(UsageError, match="not a report of pyrite"):
        written(bench)
    assert bench.paths.report_json.read_text(encoding="utf-8") == there
    write(bench, measure_bench(bench), options={"seed": 0}, force=True)
    written(bench)


def test_nothing_but_the_report_is_written(lab: Any) -> None:
    bench = lab.four()

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}

    before = files()
    written(bench)
    after = files()
    assert after.keys() - before.keys() == {bench.paths.report_json, bench.paths.report_html}
    assert all(after[path] == data for path, data in before.items())


def test_many_episodes_and_agents_stay_one_small_page(lab: Any) -> None:
    many = [
        lab.made(
            f"e{i}",
            task_id=f"t{i % 40}",
            agent=f"agent-{i % 20}",
            outcome="fail" if i % 3 else "pass",
            category="F-UNCOMMITTED" if i % 3 else None,
        )
        for i in range(300)
    ]
    bench = lab.bench(many, instruction=None)
    lab.judge(bench, "vlm", {made.episode_id: YES if i % 4 else NO for i, made in enumerate(many)})
    done = written(bench)
    assert done.html_bytes < 200_000
    page = lab.page(done.html.read_text(encoding="utf-8"))
    assert "8 more agents in report.json" in page.text


def test_what_the_verifier_read_is_folded_after_four_lines(lab: Any) -> None:
    notes = {f"note{number}": number for number in range(9)}
    page = page_of(lab, lab.bench([lab.made("e1", diagnostics=notes)]))
    folded = page.text.split("5 more")[1]
    assert [number for number in range(9) if f"note{number}" in folded] == [4, 5, 6, 7, 8]


def test_each_judge_names_the_failed_episodes_that_it_accepts(lab: Any) -> None:
    many = [lab.made(f"e{i:02d}", outcome="fail", category="F-CLAIM") for i in range(30)]
    bench = lab.bench([*many, lab.made("p")], name="a bench")
    accepted = {made.episode_id: YES for made in many[:25]}
    lab.judge(bench, "vlm", {**accepted, "p": YES})
    lab.judge(bench, "vlm", {"e24": YES, "e25": NO}, condition="E3-full")
    lab.judge(bench, "accept-all", accepted)
    page = page_of(lab, bench)
    assert "vlm accepts 25 failed episodes" in page.text
    assert "accept-all accepts" not in page.text
    listed = re.findall(r"pyrite view 'a bench/episodes/(e\d+)'", page.text)
    assert listed == ["e24", *(f"e{i:02d}" for i in range(19))], "the ones of most conditions first"
    assert "E1-final, E3-full" in page.text
    assert "5 more: false_accepts in report.json" in page.text
