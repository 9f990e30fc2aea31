"use strict";
// A table is sorted by the column whose head is pressed: by its figures where it has any, else by its words.
(() => {
  const units = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, KiB: 1024, MiB: 1048576, GiB: 1073741824 };
  const figure = (text) => {
    const found = /^(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([a-zA-Zµ]+)?/.exec(text.trim());
    return found ? Number(found[1].replaceAll(",", "")) * (units[found[2]] ?? 1) : NaN;
  };
  const compare = (a, b) => {
    const [x, y] = [figure(a), figure(b)];
    if (Number.isNaN(x) && Number.isNaN(y)) return a.localeCompare(b, "en");
    if (Number.isNaN(x)) return 1;
    if (Number.isNaN(y)) return -1;
    return x - y;
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(a.cells[column].textContent, b.cells[column].textContent));
        if (down) rows.reverse();
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        table.tBodies[0].append(...rows);
      });
    });
  }
  // A link may lead into a fold, and paper cannot be unfolded.
  const unfold = (place) => place?.closest("details")?.setAttribute("open", "");
  const follow = () => unfold(document.getElementById(decodeURIComponent(location.hash.slice(1))));
  addEventListener("hashchange", follow);
  follow();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((each) => each.setAttribute("open", ""));
  });
  addEventListener("afterprint", () => closed.forEach((each) => each.removeAttribute("open")));
})();
