// Draw the formulas of a page with the KaTeX beside this file; pages loaded without a reload are drawn again.
document$.subscribe(function () {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const text = element.textContent;
    const display = text.startsWith("\\[");
    katex.render(text.slice(2, -2), element, { displayMode: display, throwOnError: false });
  }
});
