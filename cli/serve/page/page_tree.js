/* page_tree.js: the beam as a tree. A column is a step, a node a token; the nodes of a step are drawn when they arrive. */

const COLUMN = 124, ROW = 30, BOX = 98, HEIGHT = 24, MARGIN = 10, MAX_PRUNED = 6;

/* A tree that grows. force(tokens): a node was chosen, with the tokens from the first to it. */
function newTree(holder, separator, force) {
  const nodes = new Map(); /* by number */
  const branches = [];     /* all */
  const svg = draw("svg", { width: 0, height: 0 });
  const edges = draw("g"), boxes = draw("g");
  svg.append(edges, boxes);
  holder.replaceChildren(svg);
  let width = 0, height = 0;

  const tokensOf = (branch) => {
    const tokens = [];
    for (let at = branch; at; at = nodes.get(at.parent)) if (!(at.ended && at.token === "")) tokens.unshift(at.token);
    return tokens;
  };

  function place(branch, step, row) {
    branch.x = MARGIN + (step - 1) * COLUMN;
    branch.y = MARGIN + row * ROW;
    width = Math.max(width, branch.x + BOX + MARGIN);
    height = Math.max(height, branch.y + HEIGHT + MARGIN);
  }

  function put(branch) {
    const state = branch.number === undefined ? "pruned" : branch.ended ? "kept ended" : "kept";
    const parent = nodes.get(branch.parent);
    const middle = branch.y + HEIGHT / 2;
    if (parent) {
      const from = parent.x + BOX, y = parent.y + HEIGHT / 2, half = (branch.x - from) / 2;
      branch.edge = draw("g", { class: state }, draw("path", { d: `M${from} ${y}C${from + half} ${y} ${from + half} ${middle} ${branch.x} ${middle}` }));
      edges.append(branch.edge);
    }
    const text = visible(branch.token);
    const label = draw("text", { x: branch.x + 6, y: middle + 4 }, text.length > 8 ? text.slice(0, 7) + "…" : text);
    const figure = draw("text", { x: branch.x + BOX - 4, y: middle + 3.5, "text-anchor": "end", class: "number" }, percent(branch.probability).replace(" %", ""));
    const title = draw("title", {}, `${text}\nprobability ${percent(branch.probability)}\nscore ${branch.score.toFixed(3)}${state === "pruned" ? "\npruned" : ""}`);
    branch.box = draw("g", { class: state, role: "button", "aria-label": `${text}, ${percent(branch.probability)}` },
      draw("rect", { x: branch.x, y: branch.y, width: BOX, height: HEIGHT, rx: 5 }), label, figure, title);
    branch.box.addEventListener("click", () => force(tokensOf(branch)));
    if (state !== "pruned") branch.box.setAttribute("tabindex", "0");
    branch.box.addEventListener("keydown", (event) => { if (event.key === "Enter") force(tokensOf(branch)); });
    boxes.append(branch.box);
  }

  return {
    branches, nodes, separator, tokensOf,
    /* The branches of one step. */
    add({ step, branches: all }) {
      const kept = all.filter((b) => b.number !== undefined).sort((a, b) => b.score - a.score);
      const pruned = all.filter((b) => b.number === undefined).sort((a, b) => b.score - a.score);
      [...kept, ...pruned.slice(0, MAX_PRUNED)].forEach((branch, row) => {
        place(branch, step, row);
        put(branch);
      });
      for (const branch of all) branches.push(branch);
      for (const branch of kept) nodes.set(branch.number, branch);
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
    },
    /* Marks the path of the best translation, and returns its branches. */
    end() {
      const ends = [...nodes.values()].filter((b) => b.ended);
      if (!ends.length) return [];
      const path = [];
      for (let at = ends.reduce((a, b) => (b.score > a.score ? b : a)); at; at = nodes.get(at.parent)) {
        path.unshift(at);
        at.box.classList.add("best");
        if (at.edge) at.edge.classList.add("best");
      }
      return path;
    },
    /* What the search considered in place of token `index` of a path, best first. */
    alternatives(path, index) {
      const parent = index > 0 ? path[index - 1].number : -1;
      return branches.filter((b) => b.parent === parent && !(b.ended && b.token === "")).sort((a, b) => b.probability - a.probability);
    },
  };
}
