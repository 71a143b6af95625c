"""The documentation builds without a warning, needs no network, and every link inside it leads somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import setsu

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("mkdocs.yml", "docs", "src", "examples")


class Page(HTMLParser):
    """Links, anchors and files that a page loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages, made in a copy so that nothing is left in the project."""
    folder = tmp_path_factory.mktemp("documentation")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.zarr", "*.nc"))
        else:
            shutil.copy(source, folder)
    built = subprocess.run([sys.executable, "-m", "zensical", "build"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "Warning" not in built.stdout + built.stderr, built.stdout + built.stderr
    return folder / "site"


@pytest.mark.slow
def test_links_inside_the_documentation_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (path.parent / unquote(target)).resolve() if target not in ("", ".") else path
            if not file.exists() or (anchor and file in pages and unquote(anchor) not in pages[file].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(broken)


@pytest.mark.slow
def test_pages_load_nothing_from_the_network(site: Path) -> None:
    foreign = [
        f"{path.relative_to(site)}: {source}"
        for path in site.rglob("*.html")
        for source in Page(path).loaded
        if re.match(r"(https?:)?//", source)
    ]
    assert not foreign, "\n".join(foreign)
    style = (site / "katex" / "katex.min.css").read_text(encoding="utf-8")
    fonts = re.findall(r"url\(([^)]+)\)", style)
    assert fonts
    assert all((site / "katex" / font).is_file() for font in fonts)


# What people of the field search for, and the pages that have it.
FIELD_TERMS = {
    "RNEA": "algorithms/newton_euler",
    "CRBA": "algorithms/composite_body",
    "ABA": "algorithms/articulated_body",
    "forward kinematics": "algorithms/kinematics",
    "inverse kinematics": "inverse_kinematics",
    "geometric Jacobian": "algorithms/kinematics",
    "KKT": "algorithms/constrained_motion",
    "Lagrange multipliers": "algorithms/constrained_motion constraints",
    "Delassus": "contact_problems algorithms/contact",
    "NCP": "contact_problems algorithms/contact",
    "friction cone": "contact_problems contact algorithms/contact",
    "time-stepping": "contact algorithms/contact",
    "restitution": "contact",
    "Baumgarte": "simulation constraints",
    "mimic joint": "constraints model_files",
    "loop closure": "constraints algorithms/constrained_motion",
    "floating base": "model_files",
    "Denavit-Hartenberg": "mechanisms",
    "SRDF": "model_files",
    "Coriolis matrix": "algorithms/coriolis",
    "centroidal momentum": "algorithms/energy",
    "regressor": "algorithms/regressor",
    "base parameters": "minimum_parameters algorithms/minimum_parameters",
    "Stribeck": "identification",
    "excitation": "identification",
    "operational space": "control",
    "impedance": "control",
    "ZMP": "humanoid",
    "rollout": "simulation",
    "domain randomisation": "sweeps",
    "FMU": "generated_code",
    "CasADi": "optimisation_and_learning",
    "Gymnasium": "optimisation_and_learning",
}
_FIELD = "input[type=text], input[type=search], input:not([type])"


@pytest.mark.slow
@pytest.mark.parametrize(
    "terms",
    [
        pytest.param(("RNEA", "floating base", "base parameters"), id="some"),
        pytest.param(tuple(FIELD_TERMS), id="all", marks=pytest.mark.nightly),
    ],
)
def test_the_search_leads_from_words_of_the_field_to_their_page(site: Path, terms: tuple[str, ...]) -> None:
    """Among the first three results, in pages opened as files, without network."""
    from playwright.sync_api import sync_playwright

    from setsu.studio.picture import BROWSER_ARGUMENTS, find_browser

    lost, asked = {}, []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_ARGUMENTS))
        # A tab for each, side by side: most of the time is spent waiting for their first search.
        context = browser.new_context(offline=True)
        tabs = {term: context.new_page() for term in terms}
        for shown in tabs.values():
            shown.on("request", lambda request: asked.append(request.url))
            shown.goto((site / "algorithms" / "contact.html").as_uri())
            shown.locator(".md-search__button").click()
        for term, found in _first_results(tabs, site).items():
            if not set(found) & set(FIELD_TERMS[term].split()):
                lost[term] = found
        browser.close()
    assert not lost, lost
    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked), asked


def _first_results(tabs: dict[str, Any], site: Path) -> dict[str, list[str]]:
    """Pages of the first three results of each term's tab, once its search has found anything."""
    waiting = dict(tabs)
    for _ in range(40):
        for term, shown in waiting.items():
            shown.locator(_FIELD).fill(term)  # the field drops what comes before its first search is ready
        next(iter(tabs.values())).wait_for_timeout(1_000)
        waiting = {term: shown for term, shown in waiting.items() if not shown.locator("ol a mark").count()}
        if not waiting:
            break
    start = site.as_uri() + "/"
    return {
        term: [
            link.removeprefix(start).partition(".html")[0]
            for link in shown.locator("ol a").evaluate_all("links => links.map(link => link.href)")[:3]
        ]
        for term, shown in tabs.items()
    }


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = Page(site / "reference.html").anchors
    shown = {anchor.rsplit(".", 1)[-1] for anchor in anchors}
    modules = {"control", "sample_mechanisms", "scenario", "__version__"}
    missing = set(setsu.__all__) - shown - modules
    assert not missing, sorted(missing)


def test_every_public_name_is_on_a_page_with_prose() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages if page.name != "reference.md")
    missing = [name for name in setsu.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing, missing


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")]
OTHERS_OPTIONS = {"--nthreads", "--nworkers", "--runs"}
"""Of dask-worker, and of a benchmark that is a module."""


def test_options_names_and_paths_in_the_pages_exist(capsys: pytest.CaptureFixture[str]) -> None:
    from setsu.command_line import main
    from setsu.command_line.application import COMMANDS

    for words in (["--help"], *([name, "--help"] for name, _, _ in COMMANDS)):
        main(words)
    options = set(re.findall(r"--[a-z][\w-]+", capsys.readouterr().out)) | OTHERS_OPTIONS
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        wrong += [f"{page.name}: {option}" for option in set(re.findall(r"(?<![\w-])--[a-z][\w-]+", text)) - options]
        wrong += [
            f"{page.name}: setsu.{name}"
            for name in set(re.findall(r"\bsetsu\.([A-Za-z_]\w*)", text))
            if not hasattr(setsu, name) and find_spec(f"setsu.{name}") is None
        ]
        wrong += [
            f"{page.name}: {path}"
            for path in re.findall(r"`((?:src|tests|benchmarks|examples|docs)/[\w./]+)`", text)
            if not (ROOT / path).exists()
        ]
    assert not wrong, "\n".join(sorted(wrong))


def test_every_law_of_the_certificate_is_on_the_page() -> None:
    from setsu.checks import certify

    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    told = {name for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for name in row.split(", ")}
    laws = {result.name for result in certify(setsu.sample_mechanisms.pendulum()).results}
    assert laws <= told, laws - told


def test_every_example_is_one_part_of_one_tutorial() -> None:
    shown = [
        name
        for page in (ROOT / "docs" / "tutorials").glob("*.md")
        for name in re.findall(r'^--8<-- "examples/(.*)"$', page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").glob("[0-9][0-9]_*.py"))


def test_ratios_in_the_readme_are_those_of_the_stored_benchmarks() -> None:
    """Ranges over two kinds of processors."""
    reached: dict[str, list[float]] = {}
    for name in ("dynamics", "dynamics_avx2"):
        stored = json.loads((ROOT / "benchmarks" / "dynamics" / f"{name}.json").read_text(encoding="utf-8"))
        for goal in stored["goals"]:
            reached.setdefault(goal["what"], []).append(goal["reached"])
    kinds = {
        "batch, compiled": "compiled batch",
        "batch, any mechanism": "generic batch",
        "one call, compiled": "compiled single",
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    number = r"([\d.]+ to [\d.]+|)"
    row = rf"^\| ([\w ]+), (batch, .*?|one call, .*?) \| {number} \| {number} ?\|$"
    rows = re.findall(row, readme, re.MULTILINE)
    assert len(rows) == 9
    for quantity, kind, *told in rows:
        name = re.sub("^derivatives of (.*)", r"\1 derivatives", quantity)
        for robot, text in zip(("panda", "talos"), told, strict=True):
            if text:
                both = reached[f"{robot}, {name}, {kinds[kind]} / Pinocchio"]
                assert len(both) == 2
                assert text == f"{min(both):.1f} to {max(both):.1f}"


def test_every_source_is_on_its_page() -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    for line in str(setsu.citation().text).splitlines():
        key, words = re.match(r"\[(\w+)\] (.*)", line).groups()  # type: ignore[union-attr]
        assert f"| `{key}` | {words} |" in page


def test_the_picture_of_the_layers_shows_every_part_on_its_line() -> None:
    """docs/architecture.md draws the package as tests/architecture/layers.py enforces it."""
    from architecture.layers import LINES

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn: dict[str, int] = {}
    for number, parts in re.findall(r"^\| (\d) \| ([^|]*) \|", page, re.MULTILINE):
        drawn |= {part: int(number) for part in re.findall(r"`(\w+)`", parts)}
    assert drawn == LINES
    picture = re.findall(r"^ (\d)    (\w[\w ]*)$", page, re.MULTILINE)
    assert {part: int(number) for number, parts in picture for part in parts.split()} == LINES
