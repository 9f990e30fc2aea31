"""What README.md and docs/results/ say of published trainings is what their pages and records hold."""

import re

import pytest
import yaml
from published.publications import FOLDERS, LAST_BEFORE_PACKING, cells

from runner.matrix import load_matrix
from runner.publishing.pages import MATRIX
from tests.fuzz.corpus import ROOT
from tools import operation_rows, readme_figures

README = (ROOT / "README.md").read_text(encoding="utf-8")
# The pages of results, with links as they stand at the root.
RESULTS = [path.read_text(encoding="utf-8").replace("](../../", "](") for path in readme_figures.RESULTS]
ROWS = [
    row
    for text in (README, *RESULTS)
    for row in text.splitlines()
    if re.match(r"\| \[[A-Z]+\]\(results/published/", row)
]
OPERATIONS = [row for text in RESULTS for row in text.splitlines() if operation_rows.ROW.fullmatch(row)]
# Of a row of whole trainings, by its cells: those from start to result, of the lower bound, and of the nearest library.
LEAST_FIGURES = {4: 2, 5: 2, 6: 3}
FIGURE = re.compile(r"[\d.]+x \([\d.]+ to [\d.]+\)|[\d.]+ m?s\b")


def test_the_readme_shows_whole_trainings() -> None:
    assert len(ROWS) >= 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("/")[2])
def test_every_figure_of_a_training_stands_in_the_page_that_its_row_links_to(row: str) -> None:
    link = re.search(r"\(([^)]+\.md)\)", row)
    assert link is not None, row
    page = ROOT / link[1]
    text = page.read_text(encoding="utf-8")
    if link[1].split("/")[2] <= LAST_BEFORE_PACKING:
        # Where another library is faster, these pages do not compare ours with the reference's variants.
        text += page.with_name("overview.md").read_text(encoding="utf-8")
    figures = FIGURE.findall(row.split("|", maxsplit=2)[2])
    assert len(figures) >= LEAST_FIGURES.get(len(cells(row)), 4), f"figures of {row}: {figures}"
    assert [figure for figure in figures if figure not in text] == [], f"not in {link[1]}"


def test_every_figure_and_flag_of_a_training_is_what_its_records_give() -> None:
    anew = "write it anew: .venv/bin/python -m tools.readme_figures --write"
    assert readme_figures.rewritten(README) == README, anew
    for path in readme_figures.RESULTS:
        text = path.read_text(encoding="utf-8")
        assert readme_figures.rewritten(text) == text, f"{path.name}: {anew}"
    assert sum(", loaded in" in row for row in ROWS) >= 6


def test_an_operation_is_told_by_its_narrowest_and_its_widest_lead() -> None:
    page = "results/published/2026-11-29-numba-and-jax/tables/quick/buffer-sample.md"
    row = f"| [`buffer-sample`]({page}) | AMD A | x | x | x | x |"
    *_, cases, behind, narrowest, widest, other_work = cells(readme_figures.rewritten(row))
    assert (cases, behind) == ("4", "1 inconclusive")
    assert narrowest == "batch=1024: 1.01x (0.833 to 1.44), numpy-tuned, inconclusive"
    assert widest == "batch=32: 1.36x (1.15 to 1.88), rlox"
    assert other_work == "—"


def test_one_case_of_an_operation_names_every_competitor_by_its_time() -> None:
    page = "results/published/2026-11-29-numba-and-jax/tables/quick/env-vector.md"
    *_, loaded, ours, nearest, ratio, others = cells(
        readme_figures.rewritten(f"| [`env-vector`]({page}) n=512 | AMD A | x | x | x | x |")
    )
    assert loaded == "AMD A, loaded in 41 of 50 launches"
    assert (ours, nearest, ratio) == ("18.5 µs", "gymnasium-tuned, 4.45 ms", "241x (230 to 251)")
    assert others == (
        "gymnasium-vectorised 63.1 µs (other work), rlox 90.8 µs (other work), envpool 291 µs (other work), "
        "gymnasium 4.56 ms, sb3 4.76 ms, torchrl 4.88 ms"
    )
    with pytest.raises(ValueError, match="n=3 has no ratio"):
        readme_figures.rewritten(f"| [`env-vector`]({page}) n=3 | AMD A | x | x | x | x |")


def test_a_row_of_the_lower_bound_has_what_its_page_says_of_ours() -> None:
    page = "results/published/2026-11-29-trainings/tables/full/dqn.md"
    *_, bound, ours, faster = cells(
        readme_figures.rewritten(f"| [DQN]({page}), goal 1.0 | AMD A | x | x | x |")
    )
    assert (bound, ours, faster) == ("5.22 s", "5.00 s", "0.957x")


def test_a_row_is_read_with_the_cases_of_its_own_publication() -> None:
    page = "results/published/2026-11-29-operations/tables/full/gae.md"
    today = load_matrix(readme_figures.ROOT / MATRIX, builds=False).benchmarks["gae"].cases["T=128"]
    then = load_matrix(readme_figures.ROOT / page.split("/tables/", maxsplit=1)[0] / MATRIX, builds=False)
    assert then.benchmarks["gae"].cases["T=128"] != today
    *_, cases, _, _, widest, _ = cells(
        readme_figures.rewritten(f"| [`gae`]({page}) | AMD A | x | x | x | x |")
    )
    assert int(cases) > 1
    assert re.search(r"\dx \(", widest)


def test_the_plot_of_the_readme_is_that_of_its_table() -> None:
    assert readme_figures.plot(README) == readme_figures.PLOT.read_text(encoding="utf-8")


def test_the_first_screen_has_each_competitor_with_its_time_and_how_much_faster_ours_is() -> None:
    rows = [
        f"| [{name}](results/published/{folder}/tables/full/{name.lower()}.md) | AMD |{' x |' * 4}"
        for name, folder in (("PPO", "2026-11-28-libraries"), ("SAC", "2026-11-23-sac-full"))
    ]
    headline = "\n".join(("<!-- headline -->", *rows, "<!-- end of headline -->"))
    written = readme_figures.rewritten(headline)
    _, ppo, sac, _ = written.splitlines()
    assert cells(ppo)[2:] == (
        "750 ms",
        "42.6 s: 56.8x (55.7 to 58.5)",
        "compile, 9.76 s: 13.0x (12.5 to 13.4)",
        "jax, 1.44 s: 1.91x (1.85 to 1.95)",
    )
    # That publication has no peer.
    assert cells(sac)[-1] == "—"
    assert readme_figures.rewritten(written) == written


def test_the_first_screen_names_the_fastest_at_other_work_of_each_training() -> None:
    row = "| [{}](results/published/{}/tables/full/{}.md) | AMD |" + " x |" * 4
    rows = [
        row.format("PPO", "2026-11-23-ppo-libraries", "ppo"),
        row.format("PPO", "2026-11-23-ppo-libraries", "ppo"),
        row.format("SAC", "2026-11-27-sac", "sac"),
        row.format("SAC", "2026-11-23-sac-full", "sac"),
    ]
    line = "Fastest at other work, unranked: what was"
    [*_, written, _] = readme_figures.rewritten(
        "\n".join(("<!-- headline -->", *rows, "", line, "<!-- end of headline -->"))
    ).splitlines()
    # Each training once, although it has two rows.
    assert re.sub(r"\]\([^)]*\)", "]", written) == (
        "Fastest at other work, unranked: PPO rlox 73.9 s ([3 differences]), ours 1.52 s; "
        "SAC rltools 61.1 s ([7 differences]), ours 35.1 s."
    )


def test_a_row_of_libraries_names_the_nearest_and_the_fastest_at_other_work() -> None:
    page = "results/published/2026-11-28-libraries/tables/full/dqn.md"
    words = ("", ", Gymnasium's own environment")
    whole, in_python = [
        cells(readme_figures.rewritten(f"| [DQN]({page}){each} | AMD B | x | x | x | x |"))[-4:]
        for each in words
    ]
    assert whole == ("2.53 s", "jax, 4.98 s", "1.97x (1.85 to 2.04)", "rlox, 36.8 s")
    assert in_python == ("5.24 s", "jax, 4.98 s", "0.949x (0.906 to 0.975), slower", "rlox, 36.8 s")
    without_libraries = "results/published/2026-11-23-sac-full/tables/full/sac.md"
    with pytest.raises(ValueError, match="no library does the work of sac"):
        readme_figures.rewritten(f"| [SAC]({without_libraries}) | AMD B | x | x | x | x |")


def test_the_first_screen_is_of_an_idle_machine() -> None:
    headline = README.partition("<!-- headline -->")[2].partition("<!-- end of headline -->")[0]
    assert sum(line.startswith("| [") for line in headline.splitlines()) == 5
    assert "loaded in" not in headline


@pytest.mark.parametrize("row", [*ROWS, *OPERATIONS], ids=lambda row: row.split("/")[2])
def test_a_row_of_the_documents_is_of_the_machine_that_its_publication_names(row: str) -> None:
    assert [cells(row)[1].split(",")[0]] == FOLDERS[row.split("/")[2]]


def test_the_document_says_of_each_profile_the_minutes_that_the_matrix_does() -> None:
    document = (ROOT / "docs" / "your-machine.md").read_text(encoding="utf-8")
    profiles = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))["profiles"]
    for name, profile in profiles.items():
        row = next(row for row in document.splitlines() if row.startswith(f"| `{name}`"))
        minutes = profile["minutes"]
        about = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
        assert about in cells(row)[-1], row
