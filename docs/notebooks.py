"""`python docs/notebooks.py`: the tutorials as Jupyter notebooks, and the pictures on their pages.

The pages of docs/tutorials that have Python blocks are the source: a notebook holds their text and their code in turn,
and the pictures are those that the code writes. `--check` only says whether the notebooks are those of the pages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "tutorials"
NOTEBOOKS = ROOT / "examples" / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[[^\]]*\]\((\w+\.png)\)\n*", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([\w./#-]+)\)")


def pages() -> list[Path]:
    """The tutorials that have Python blocks."""
    return [page for page in sorted(PAGES.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def notebook(page: Path) -> str:
    """The notebook of a page, as it is kept: without outputs."""
    text = page.read_text(encoding="utf-8")
    drawn = set(re.findall(r'savefig\("(\w+\.png)"', text))
    cells = []
    for number, part in enumerate(BLOCK.split(text)):
        if number % 2:
            code = part.replace('"arm.urdf"', '"../models/arm.urdf"')
            cells.append(_cell("code", code, {"execution_count": None, "outputs": []}))
            continue
        # What the code draws stands below it in a notebook; links lead to the pages, seen from the notebook.
        part = PICTURE.sub(lambda found: "" if found[1] in drawn else found[0], part)
        part = re.sub(r"(!\[[^\]]*\]\()(\w+\.png)", r"\1../../docs/tutorials/\2", part)
        part = LINK.sub(lambda found: f"]({_from_notebook(found[1])})", part)
        if part.strip():
            cells.append(_cell("markdown", part, {}))
    for number, cell in enumerate(cells):
        cell["id"] = f"{page.stem}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    found = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True), **more}


def _from_notebook(target: str) -> str:
    path, _, place = target.partition("#")
    if not path or path.startswith("../../docs"):
        return target
    moved = os.path.relpath((PAGES / path).resolve(), NOTEBOOKS).replace(os.sep, "/")
    return f"{moved}#{place}" if place else moved


def draw(page: Path) -> None:
    """Run the code of a page and keep its pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "arm.urdf").write_bytes((ROOT / "examples" / "models" / "arm.urdf").read_bytes())
        code = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
        words = [sys.executable, "-c", code]
        subprocess.run(words, cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}, check=True)
        for picture in folder.glob("*.png"):
            _shrink(picture, PAGES / picture.name)


def _shrink(source: Path, target: Path) -> None:
    """128 colours: a fraction of the size, for a repository that keeps its pictures."""
    from PIL import Image

    image = Image.open(source).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


def main(words: list[str]) -> int:
    """Write notebooks and pictures of all tutorials, or of those named."""
    if words == ["--check"]:
        stale = [page.stem for page in pages() if not _is_kept(page)]
        print("stale: " + ", ".join(stale) if stale else "all notebooks are those of their pages")
        return int(bool(stale))
    NOTEBOOKS.mkdir(exist_ok=True)
    for page in pages():
        if not words or page.stem in words:
            print(page.stem, flush=True)
            (NOTEBOOKS / f"{page.stem}.ipynb").write_text(notebook(page), encoding="utf-8")
            draw(page)
    return 0


def _is_kept(page: Path) -> bool:
    kept = NOTEBOOKS / f"{page.stem}.ipynb"
    return kept.is_file() and kept.read_text(encoding="utf-8") == notebook(page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
