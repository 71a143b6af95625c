"""The notebooks are those of their pages, whose code test_examples.py runs; nightly they run in a kernel."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
PAGES: list[Path] = MADE["pages"]()
NOTEBOOKS: Path = MADE["NOTEBOOKS"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_is_that_of_its_page(page: Path) -> None:
    kept = NOTEBOOKS / f"{page.stem}.ipynb"
    assert kept.is_file(), "make it by: python docs/notebooks.py"
    assert kept.read_text(encoding="utf-8") == MADE["notebook"](page), "make it again by: python docs/notebooks.py"
    nbformat.validate(nbformat.read(kept, as_version=4))


def test_every_notebook_has_a_page_and_every_picture_exists() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {page.stem for page in PAGES}
    for page in PAGES:
        for picture in MADE["PICTURE"].findall(page.read_text(encoding="utf-8")):
            assert (page.parent / picture).is_file(), f"{page.name}: {picture}"


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "models", tmp_path / "models")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    book = nbformat.read(NOTEBOOKS / f"{page.stem}.ipynb", as_version=4)
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
