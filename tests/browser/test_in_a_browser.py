"""The report in a real browser: nothing overflows, text has contrast, tables sort, folds open, paper shows all.

`pytest tests/browser` needs Chromium, so it is a job of its own; ``--basetemp`` keeps the screenshots.
"""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from runner.cli.main import main

PUBLISHED = Path(__file__).parents[2] / "results/published/2026-11-26-gae-dqn"
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
# What the page tells of itself: written into it, read from the document that the browser prints.
PROBE = """
const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = (rgb) => [.2126, .7152, .0722].reduce((sum, share, i) => sum + share * linear(rgb[i] / 255), 0);
const behind = (node) => {
  for (let each = node; each; each = each.parentElement) {
    const colour = rgb(getComputedStyle(each).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const contrast = (node) => {
  const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
};
addEventListener("load", () => {
  const texts = [...document.querySelectorAll("h1,h2,h3,h4,p,li,td,th button,a,summary,code")];
  const table = document.querySelector("table");
  const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent);
  const before = column();
  table.tHead.rows[0].cells[1].querySelector("button").click();
  const sorted = column();
  const folded = () => document.querySelectorAll("details:not([open])").length;
  const counts = [folded()];
  for (const event of ["beforeprint", "afterprint"]) {
    dispatchEvent(new Event(event));
    counts.push(folded());
  }
  const fold = document.querySelector("details h4").id;
  location.hash = fold;
  setTimeout(() => {
    const said = document.createElement("output");
    said.id = "said";
    said.textContent = JSON.stringify({
      overflow: document.documentElement.scrollWidth - innerWidth,
      contrast: Math.min(...texts.map(contrast)),
      before, sorted, sort: table.tHead.rows[0].cells[1].getAttribute("aria-sort"),
      opened: document.getElementById(fold).closest("details").open,
      images: [...document.images].map((each) => each.naturalWidth),
      folded_before: counts[0], folded_on_paper: counts[1], folded_after: counts[2],
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
    });
    document.body.append(said);
  }, 100);
});
"""
SIZES = {"desk": "1280,2000", "phone": "500,2000"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert BROWSER, "no Chromium: install it, or name it in CHROMIUM"
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["report", "--results", str(PUBLISHED), "--profile", "full", "--output", str(path)]) == 0
    return path


def browse(*words: str) -> str:
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000"]
    done = subprocess.run(
        [str(BROWSER), *fixed, *words], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def probed(report: Path, *words: str) -> dict:
    """What the page says of itself. The probe is no script of ours, so the copy lacks the policy that forbids it."""
    text = re.sub(r"<meta http-equiv=[^>]*>", "", report.read_text(encoding="utf-8"))
    copy = report.with_name("probed.html")
    copy.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    found = re.search(r'<output id="said">(.*?)</output>', browse("--dump-dom", *words, copy.as_uri()))
    assert found, "the probe said nothing"
    return dict(json.loads(unescape(found[1])))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_overflows_and_every_text_has_contrast(report: Path, size: str, scheme: str) -> None:
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    browse(
        f"--screenshot={report.with_name(f'{size}-{scheme}.png')}",
        f"--window-size={SIZES[size]}",
        *dark,
        report.as_uri(),
    )
    said = probed(report, f"--window-size={SIZES[size]}", *dark)
    assert said["dark"] is (scheme == "dark")
    assert said["overflow"] <= 0
    assert said["contrast"] >= 4.5
    assert said["images"]
    assert all(width > 0 for width in said["images"])


def test_a_table_sorts_by_its_figures_and_a_link_opens_its_fold(report: Path) -> None:
    said = probed(report)
    assert said["sort"] == "ascending"
    assert sorted(said["before"]) == sorted(said["sorted"])
    assert said["sorted"] != said["before"]
    assert said["opened"]


def test_the_policy_lets_the_pages_own_script_run(report: Path) -> None:
    """The script gives each head of a table its button."""
    shown = browse("--dump-dom", report.as_uri())
    assert shown.count("<button") == shown.count("<th ") > 0


def test_paper_shows_what_is_folded(report: Path) -> None:
    said = probed(report)
    assert said["folded_on_paper"] == 0
    assert said["folded_after"] == said["folded_before"] > 0
