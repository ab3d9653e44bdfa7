/* page_map.js: the attention of one line: a matrix, and the source tokens, shaded by the weights of one target token. */

const shade = (element, weight) => {
  element.style.backgroundColor = weight > 0.004 ? `rgb(var(--weight) / calc(var(--darkest) * ${Math.min(weight, 1).toFixed(3)}))` : "";
};

const unitName = (text, i, all) => (i === all.length - 1 && text === "" ? "∎" : visible(text));

/* Draws the map; point(row) is called for the row under the pointer. hasSpaces: the tokens have their spaces. */
function drawMap(attention, hasSpaces, point) {
  const rows = [...attention.target, ""];
  byId("source-tokens").replaceChildren(...attention.source.flatMap((text, i, all) => [make("span", {}, unitName(text, i, all)), hasSpaces ? "" : " "]));
  const head = make("tr", {}, make("th"), ...attention.source.map((text, i, all) => make("th", { scope: "col" }, make("bdi", {}, unitName(text, i, all)))));
  const body = rows.map((text, t) => {
    const row = make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, unitName(text, t, rows))), ...attention.weights[t].map((w, s) => {
      const cell = make("td", { title: `${unitName(text, t, rows)} ← ${unitName(attention.source[s], s, attention.source)}: ${percent(w)}` });
      shade(cell, w);
      return cell;
    }));
    row.addEventListener("pointerenter", () => point(t));
    return row;
  });
  byId("matrix").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/* Shows which source tokens a target token attends to; -1: none. */
function pointMap(attention, row) {
  const weights = row >= 0 && attention.weights[row];
  [...byId("source-tokens").children].forEach((span, s) => shade(span, weights ? weights[s] : 0));
  document.querySelectorAll("#matrix tbody tr").forEach((tr, t) => tr.classList.toggle("current", t === row));
}
