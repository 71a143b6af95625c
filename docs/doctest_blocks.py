"""Show the examples inside docstrings as code: without fences Markdown takes `>>>` for three nested quotations."""

import griffe


class DoctestBlocks(griffe.Extension):
    """Put fences around every run of lines that begins with `>>>`, up to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is None:
            return
        lines, inside = [], False
        for line in obj.docstring.value.splitlines():
            if not inside and line.startswith(">>> "):
                lines += ["", "```pycon"]
                inside = True
            elif inside and not line.strip():
                lines.append("```")
                inside = False
            lines.append(line)
        obj.docstring.value = "\n".join([*lines, *(["```"] if inside else [])])
