/* page_draw.js: a view as SVG. Attributes alone style it, not the page's style sheet, so that a saved picture is complete.
   A picture is { svg, highlight(active), ... }: highlight() emphasises the weights of active = { side, index, other }, or none if it is null. */

const SVG = "http://www.w3.org/2000/svg";
const FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif';
const LEVELS = data.light.length - 1; /* of colour */
const MIN_LINK = 0.04;

/* ---- colour ---- */

/* The ramps are those of the palette in pictures and on the terminal; on dark paper, a weight of 0 is dark. */
const PAPERS = {
  light: { dark: false, paper: "#ffffff", ink: "#1b2130", soft: "#667085", line: "#e3e7ee", mark: "#b45309", ramp: data.light },
  dark: { dark: true, paper: "#14181f", ink: "#e6e9ef", soft: "#929cac", line: "#2a313d", mark: "#f0a94a", ramp: data.dark },
};

/* Whether black is easier to read on the colour than white (attend/palette.h). */
function isBright(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.1791;
}

const level = (weight) => Math.max(0, Math.min(LEVELS, Math.round(weight * LEVELS)));
const colourOf = (paper, weight) => paper.ramp[level(weight)];
const inkOn = (paper, weight) => (isBright(colourOf(paper, weight)) ? "#000000" : "#ffffff");

/* ---- elements ---- */

function createSvg(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();
function widthOf(text, size) {
  const key = size + text;
  if (!widths.has(key)) {
    ruler.font = `${size}px ${FONT}`;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

/* The text, cut at a character with an ellipsis if it is wider than `room`. */
function shortened(text, size, room) {
  if (widthOf(text, size) <= room) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && widthOf(letters.join("") + "…", size) > room) letters.pop();
  return letters.join("") + "…";
}

function canvas(width, height, paper, size, label) {
  const svg = createSvg("svg", {
    xmlns: SVG, width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    "font-family": FONT, "font-size": size, role: "img", "aria-label": label,
  });
  svg.append(createSvg("rect", { width: "100%", height: "100%", fill: paper.paper }));
  return svg;
}

const exact = (weight) => weight.toFixed(4);
const isMarked = (unit, side, statistics) =>
  side === "source" ? statistics.uncovered.includes(unit.word)
    : statistics.loop !== null && unit.word >= statistics.loop.begin && unit.word < statistics.loop.end;
const weightWith = (view, active, i) => (active.side === "target" ? view.at(active.index, i) : view.at(i, active.index));

/* ---- links ---- */

const SIZES = [{ size: 15, height: 28, pad: 8, gap: 6 }, { size: 14, height: 27, pad: 6, gap: 4 }, { size: 13, height: 26, pad: 4, gap: 2 }];

/* Words in a row; from right to left if they are written so. */
function rowOf(units, rightToLeft, word) {
  let x = 0;
  const boxes = units.map((unit) => {
    const text = shortened(unit.text, word.size, 220), width = Math.max(22, widthOf(text, word.size) + 2 * word.pad);
    x += unit.joined ? 1 : word.gap;
    const box = { text, x, width };
    x += width;
    return box;
  });
  if (rightToLeft) for (const box of boxes) box.x = x - box.x - box.width;
  return { boxes, width: x };
}

/* Two rows if they fit, else two columns. */
function linksLayout(view, room) {
  const rowsOf = (word) => ({
    source: rowOf(view.source, isRightToLeft(view.map.source), word), target: rowOf(view.target, isRightToLeft(view.map.target), word),
  });
  const width = (both) => Math.max(both.source.width, both.target.width), boxes = { source: [], target: [] };
  let word = SIZES.find((size) => width(rowsOf(size)) <= room);
  if (word) {
    const rows = rowsOf(word), deep = Math.min(300, Math.max(150, 0.36 * width(rows)));
    for (const side of ["source", "target"]) {
      const left = (room - rows[side].width) / 2, y = side === "source" ? 30 : 30 + word.height + deep;
      boxes[side] = rows[side].boxes.map((b) => ({ ...b, x: left + b.x, y }));
    }
    return { rows: true, word, width: room, height: 60 + 2 * word.height + deep, boxes };
  }
  word = room < 480 ? SIZES[1] : SIZES[0];
  const rows = rowsOf(word);
  const widest = (side) => Math.min((room - 74) / 2 - 42, Math.max(...rows[side].boxes.map((b) => b.width), 40));
  const left = widest("source"), right = widest("target"), between = Math.min(320, Math.max(74, room - left - right - 120));
  const margin = Math.max(42, (room - left - right - between) / 2);
  for (const side of ["source", "target"]) {
    let y = 8;
    boxes[side] = view[side].map((unit) => {
      const text = shortened(unit.text, word.size, (side === "source" ? left : right) - 2 * word.pad);
      const box = { text, y, width: widthOf(text, word.size) + 2 * word.pad };
      box.x = side === "source" ? margin + left - box.width : margin + left + between;
      y += word.height + (unit.joined ? 0 : 2);
      return box;
    });
  }
  const last = (side) => (boxes[side].length ? boxes[side][boxes[side].length - 1].y : 0) + word.height + 12;
  return { rows: false, word, width: Math.max(room, 2 * margin + left + right + between), height: Math.max(last("source"), last("target")), boxes };
}

function linkPath(layout, from, to) {
  const high = layout.word.height;
  if (layout.rows) {
    const x1 = from.x + from.width / 2, y1 = from.y + high, x2 = to.x + to.width / 2, y2 = to.y, m = (y1 + y2) / 2;
    return `M${x1.toFixed(1)} ${y1}C${x1.toFixed(1)} ${m} ${x2.toFixed(1)} ${m} ${x2.toFixed(1)} ${y2}`;
  }
  const x1 = from.x + from.width, y1 = from.y + high / 2, x2 = to.x, y2 = to.y + high / 2, m = (x1 + x2) / 2;
  return `M${x1.toFixed(1)} ${y1}C${m.toFixed(1)} ${y1} ${m.toFixed(1)} ${y2} ${x2.toFixed(1)} ${y2}`;
}

function drawLinks(view, statistics, paper, room) {
  const layout = linksLayout(view, room), word = layout.word;
  const svg = canvas(layout.width, layout.height, paper, word.size, view.map.attention === "cross" ? "links between source and target" : "links between a sentence and itself");
  const all = createSvg("g", { fill: "none", "stroke-linecap": "round" }), some = createSvg("g", { fill: "none", "stroke-linecap": "round" });
  const labels = createSvg("g", { "font-size": 11, fill: paper.soft });
  const words = { source: [], target: [] };
  const link = (t, s) => createSvg("path", {
    d: linkPath(layout, layout.boxes.source[s], layout.boxes.target[t]),
    stroke: colourOf(paper, 0.12 + 0.88 * view.at(t, s)), "stroke-width": (0.8 + 4.2 * view.at(t, s)).toFixed(2),
  });
  const order = [];
  for (let t = 0; t < view.target.length; t++)
    for (let s = 0; s < view.source.length; s++) if (view.at(t, s) >= MIN_LINK) order.push([view.at(t, s), t, s]);
  order.sort((a, b) => a[0] - b[0]);
  for (const [, t, s] of order) all.append(link(t, s));
  svg.append(all, some);
  for (const side of ["source", "target"])
    view[side].forEach((unit, i) => {
      const box = layout.boxes[side][i], g = createSvg("g", { "data-side": side, "data-index": i, cursor: "default" });
      const rect = createSvg("rect", { x: box.x, y: box.y, width: box.width, height: word.height, rx: 6, fill: paper.paper, stroke: "none", "stroke-width": 1.5 });
      const text = createSvg("text", { x: box.x + box.width / 2, y: box.y + word.height / 2 + 0.34 * word.size, "text-anchor": "middle", fill: unit.end ? paper.soft : paper.ink }, box.text);
      g.append(rect, text);
      if (isMarked(unit, side, statistics))
        g.append(createSvg("path", { d: `M${box.x + word.pad} ${box.y + word.height - 3}h${box.width - 2 * word.pad}`, stroke: paper.mark, "stroke-width": 2, "stroke-dasharray": "2 3" }));
      g.append(createSvg("title", {}, unit.text));
      words[side].push({ rect, text, unit, box });
      svg.append(g);
    });
  svg.append(labels);

  function label(side, box, weight) {
    const at = layout.rows
      ? { x: box.x + box.width / 2, y: side === "source" ? box.y - 7 : box.y + word.height + 16, "text-anchor": "middle" }
      : { x: side === "source" ? box.x - 6 : box.x + box.width + 6, y: box.y + 18, "text-anchor": side === "source" ? "end" : "start" };
    labels.append(createSvg("text", at, layout.rows ? weight.toFixed(2) : exact(weight)));
  }

  function highlight(active) {
    some.replaceChildren();
    labels.replaceChildren();
    all.setAttribute("opacity", active ? 0.13 : 1);
    for (const side of ["source", "target"])
      words[side].forEach(({ rect, text, unit, box }, i) => {
        const self = active && active.side === side && active.index === i;
        const weight = active && active.side !== side ? weightWith(view, active, i) : 0;
        rect.setAttribute("fill", weight >= 0.005 ? colourOf(paper, weight) : paper.paper);
        rect.setAttribute("stroke", self ? paper.ramp[Math.round(0.8 * LEVELS)] : "none");
        text.setAttribute("fill", weight >= 0.005 ? inkOn(paper, weight) : unit.end ? paper.soft : paper.ink);
        if (weight < 0.01) return;
        some.append(active.side === "target" ? link(active.index, i) : link(i, active.index));
        label(side, box, weight);
      });
  }
  return { svg, highlight, rows: layout.rows, element: (side, i) => (words[side][i] ? words[side][i].rect : null) };
}

/* ---- matrix ---- */

/* The cells of a view, one path for each colour; cells that a causal mask excludes are marked. */
function cellPaths(view, left, top, cell, paper) {
  const S = view.source.length, T = view.target.length, mirrored = isRightToLeft(view.map.source), elements = [];
  const paths = Array.from({ length: LEVELS + 1 }, () => "");
  for (let t = 0; t < T; t++)
    for (let x = 0, next; x < S; x = next) {
      const at = (k) => level(view.at(t, mirrored ? S - 1 - k : k));
      for (next = x + 1; next < S && at(next) === at(x);) next++;
      paths[at(x)] += `M${left + x * cell} ${top + t * cell}h${(next - x) * cell}v${cell}h${(x - next) * cell}z`;
    }
  if (view.rest) view.target.forEach((unit, t) => { paths[level(unit.rest)] += `M${restColumn(view, left, cell)} ${top + t * cell}h${cell}v${cell}h${-cell}z`; });
  elements.push(createSvg("rect", { x: left, y: top, width: S * cell, height: T * cell, fill: paper.ramp[0] }));
  paths.forEach((d, i) => { if (d) elements.push(createSvg("path", { d, fill: paper.ramp[i] })); });
  if (view.causal) {
    let masked = "";
    for (let t = 0; t + 1 < T; t++) masked += `M${mirrored ? left : left + (t + 1) * cell} ${top + t * cell}h${(S - 1 - t) * cell}v${cell}h${(t + 1 - S) * cell}z`;
    elements.push(createSvg("path", { d: masked, fill: paper.line, opacity: 0.6 }));
  }
  return elements;
}

const REST = "(rest)";
const REST_GAP = 0.3; /* before the column for the rest, in cells */
const restColumn = (view, left, cell) => left + (view.source.length + REST_GAP) * cell;
/* Labels of columns lean if one of them is wider than a cell; letters are upright. */
const isAnyWider = (units, size, cell) => units.some((unit) => widthOf(unit.text, size) > cell - 4);
function columnLabel(middle, y, size, isLeaning) {
  if (!isLeaning) return { x: middle, y, "text-anchor": "middle" };
  const x = middle + size * 0.3;
  return { x, y, transform: `rotate(-58 ${x} ${y})` };
}
const cellsAcross = (view) => view.source.length + (view.rest ? 1 + REST_GAP : 0);

function drawMatrix(view, statistics, paper, room) {
  const S = view.source.length, T = view.target.length, mirrored = isRightToLeft(view.map.source);
  const widest = (side, size) => Math.max(24, ...view[side].map((unit) => Math.min(150, widthOf(unit.text, size))));
  const hasProbabilities = Boolean(view.map.probability), probabilities = hasProbabilities ? 46 : 10;
  const left = Math.min(widest("target", 13) + 18, room * 0.32), lean = 58 * Math.PI / 180, coverage = 40;
  const spillOf = (size) => Math.max(widest("source", size) * Math.cos(lean) + 12, probabilities);
  const cellOf = (size) => Math.max(13, Math.min(38, Math.floor((room - left - spillOf(size)) / Math.max(cellsAcross(view), 1))));
  const size = cellOf(13) < 17 ? 10.5 : 13, cell = cellOf(size), isLeaning = isAnyWider(view.source, size, cell);
  const top = Math.max(isLeaning ? widest("source", size) * Math.sin(lean) + 22 : size + 16, view.rest ? widthOf(REST, size) * Math.sin(lean) + 14 : 0);
  const right = left + cellsAcross(view) * cell, width = right + spillOf(size), height = top + T * cell + coverage;
  const svg = canvas(width, height, paper, size, "matrix of attention weights");
  const column = (s) => left + (mirrored ? S - 1 - s : s) * cell, row = (t) => top + t * cell;

  svg.append(...cellPaths(view, left, top, cell, paper));
  let grid = "";
  for (let t = 0; t <= T; t++) grid += `M${left} ${row(t)}h${S * cell}` + (view.rest ? `m${REST_GAP * cell} 0h${cell}` : "");
  for (let s = 0; s <= S; s++) grid += `M${left + s * cell} ${top}v${T * cell}`;
  if (view.rest) grid += `M${restColumn(view, left, cell)} ${top}v${T * cell}h${cell}v${-T * cell}`;
  svg.append(createSvg("path", { d: grid, fill: "none", stroke: paper.dark ? paper.paper : paper.line, "stroke-width": paper.dark && cell > 20 ? 1.5 : 0.8 }));

  /* The coverage of each source unit and the probability of each target unit. */
  const bars = createSvg("g", {}), under = top + T * cell + 4;
  view.source.forEach((unit, s) => {
    const high = Math.max(1, 24 * Math.min(1, unit.coverage / 2));
    bars.append(createSvg("rect", { x: column(s) + 1.5, y: under, width: cell - 3, height: high.toFixed(1), fill: isMarked(unit, "source", statistics) ? paper.mark : paper.ramp[Math.round(0.42 * LEVELS)], rx: 1 }));
  });
  if (hasProbabilities) view.target.forEach((unit, t) => {
    if (Number.isNaN(unit.probability)) return;
    const wide = Math.max(1, (probabilities - 10) * unit.probability);
    bars.append(createSvg("rect", { x: right + 4, y: row(t) + cell * 0.3, width: wide.toFixed(1), height: (cell * 0.4).toFixed(1), fill: paper.ramp[Math.round(0.42 * LEVELS)], rx: 1 }));
  });
  if (left > 60) bars.append(createSvg("text", { x: left - 8, y: under + 11, "text-anchor": "end", "font-size": 10, fill: paper.soft }, "coverage"));
  if (hasProbabilities) bars.append(createSvg("text", { x: right + 4, y: under + 11, "font-size": 10, fill: paper.soft }, "prob."));
  svg.append(bars);

  const cross = createSvg("g", { fill: "none", stroke: paper.ink, "stroke-width": 1.5 });
  svg.append(cross);
  const across = createSvg("g", {}), down = createSvg("g", {}), words = { source: [], target: [] };
  down.append(createSvg("rect", { width: left - 2, height, fill: paper.paper }));
  across.append(createSvg("rect", { width, height: top - 2, fill: paper.paper }));
  view.source.forEach((unit, s) => {
    const text = createSvg("text", { ...columnLabel(column(s) + cell / 2, top - 8, size, isLeaning), fill: unit.end ? paper.soft : isMarked(unit, "source", statistics) ? paper.mark : paper.ink, "data-side": "source", "data-index": s }, shortened(unit.text, size, 150));
    text.append(createSvg("title", {}, unit.text));
    words.source.push(text);
    across.append(text);
  });
  if (view.rest) {
    const text = createSvg("text", { ...columnLabel(restColumn(view, left, cell) + cell / 2, top - 8, size, true), fill: paper.soft }, REST);
    text.append(createSvg("title", {}, "weight on the ends of the sentence, on spaces, or outside the window"));
    across.append(text);
  }
  view.target.forEach((unit, t) => {
    const text = createSvg("text", { x: left - 10, y: row(t) + cell / 2 + size * 0.35, "text-anchor": "end", fill: unit.end ? paper.soft : isMarked(unit, "target", statistics) ? paper.mark : paper.ink, "data-side": "target", "data-index": t }, shortened(unit.text, size, left - 18));
    text.append(createSvg("title", {}, unit.text));
    words.target.push(text);
    down.append(text);
  });
  svg.append(down, across);
  const corner = createSvg("rect", { width: left - 2, height: top - 2, fill: paper.paper });
  svg.append(corner);

  /* Labels stay in sight when the matrix is scrolled. */
  function follow(x, y) {
    down.setAttribute("transform", `translate(${x} 0)`);
    across.setAttribute("transform", `translate(0 ${y})`);
    corner.setAttribute("transform", `translate(${x} ${y})`);
  }

  function highlight(active) {
    cross.replaceChildren();
    for (const side of ["source", "target"])
      words[side].forEach((text, i) => {
        const self = active && (active.side === side ? active.index === i : active.other === i);
        text.setAttribute("font-weight", self ? 700 : 400);
        text.setAttribute("opacity", !active || self || (active.side !== side && weightWith(view, active, i) >= 0.05) ? 1 : 0.5);
      });
    if (!active) return;
    const frame = (x, y, w, h) => cross.append(createSvg("rect", { x, y, width: w, height: h, rx: 2 }));
    const at = { source: active.side === "source" ? active.index : active.other, target: active.side === "target" ? active.index : active.other };
    if (active.side === "target") frame(left, row(active.index), S * cell, cell);
    else frame(column(active.index), top, cell, T * cell);
    if (!(active.other >= 0)) return;
    const weight = exact(view.at(at.target, at.source)), x = column(at.source), y = row(at.target);
    frame(x, y, cell, cell);
    const wide = widthOf(weight, 12) + 12, tx = Math.min(x + cell + 4, width - wide - 2), ty = y > top + 24 ? y - 24 : y + cell + 4;
    cross.append(createSvg("rect", { x: tx, y: ty, width: wide, height: 20, rx: 4, fill: paper.ink, stroke: "none" }));
    cross.append(createSvg("text", { x: tx + 6, y: ty + 14.5, "font-size": 12, fill: paper.paper, stroke: "none" }, weight));
  }

  /* The cell at a point of the picture, or null. */
  function cellAt(x, y) {
    const k = Math.floor((x - left) / cell), t = Math.floor((y - top) / cell);
    if (view.rest && t >= 0 && t < T && x >= restColumn(view, left, cell) && x < right) return { side: "target", index: t };
    if (k < 0 || k >= S || t < 0 || t >= T) return null;
    return { side: "target", index: t, other: mirrored ? S - 1 - k : k };
  }
  const box = (active) => {
    const t = active.side === "target" ? active.index : active.other, s = active.side === "source" ? active.index : active.other;
    return { x: s >= 0 ? column(s) : null, y: t >= 0 ? row(t) : null, cell, left, top };
  };
  return { svg, highlight, follow, cellAt, box, mirrored };
}

/* ---- several maps ---- */

/* A grid of small matrices. panels: { view, caption: [lines], choose }; across: how many in a row at most. Panels of one map have labels at the margins only. */
function drawPanels(panels, paper, room, across) {
  const one = panels.every((p) => p.view.map === panels[0].view.map), gap = 18, size = 11, line = 16;
  const S = Math.max(...panels.map((p) => cellsAcross(p.view))), T = Math.max(...panels.map((p) => p.view.target.length));
  const widest = (side) => Math.max(...panels.flatMap((p) => p.view[side].map((unit) => Math.min(110, widthOf(unit.text, size)))), side === "source" ? widthOf(REST, size) : 0, 20);
  const labels = widest("target") + 8, lean = 58 * Math.PI / 180;
  const cellOf = (count) => Math.floor((room - labels * (one ? 1 : count) - (count - 1) * gap - 20) / (count * Math.max(S, 1)));
  let count = Math.min(across, panels.length);
  while (count > 1 && cellOf(count) < 4) count--;
  const cell = Math.max(4, Math.min(34, cellOf(count))), hasLabels = cell >= 9 || (one ? false : cell >= 7);
  const lines = Math.max(...panels.map((p) => p.caption.length)) * line + 6;
  const head = hasLabels ? widest("source") * Math.sin(lean) + 8 : 0, left = hasLabels ? labels : 0;
  const widestCaption = Math.max(...panels.flatMap((p) => p.caption.map((text) => widthOf(text, size) * 1.1)));
  const stepX = Math.max(S * cell + gap + (one ? 0 : left), Math.min(widestCaption + gap, (room - labels) / count)), rows = Math.ceil(panels.length / count);
  const topOf = (r) => lines + (one && r > 0 ? 0 : head), yOf = (r) => r * (T * cell + gap + lines) + (one ? (r > 0 ? head : 0) : r * head);
  const width = Math.max((one ? left : 0) + count * stepX + head * 0.62, 260), height = yOf(rows - 1) + topOf(rows - 1) + T * cell + 8;
  const svg = canvas(width, height, paper, size, "attention maps side by side");
  const frames = [];
  panels.forEach((panel, i) => {
    const r = Math.floor(i / count), k = i % count, x = (one ? left : 0) + k * stepX + (one ? 0 : left), y = yOf(r) + topOf(r), v = panel.view;
    const g = createSvg("g", { "data-panel": i, cursor: panel.choose ? "pointer" : "default" });
    panel.caption.forEach((text, n) => g.append(createSvg("text", { x: one ? x : x - left, y: yOf(r) + 12 + n * line, fill: n ? paper.soft : paper.ink, "font-weight": n || one ? 400 : 600 }, shortened(text, size, stepX - 8))));
    g.append(...cellPaths(v, x, y, cell, paper));
    const frame = createSvg("rect", { x, y, width: v.source.length * cell, height: v.target.length * cell, fill: "none", stroke: panel.chosen ? paper.ink : paper.soft, "stroke-width": panel.chosen ? 2 : 0.6 });
    g.append(frame);
    if (v.rest) g.append(createSvg("rect", { x: restColumn(v, x, cell), y, width: cell, height: v.target.length * cell, fill: "none", stroke: paper.soft, "stroke-width": 0.6 }));
    if (hasLabels && (!one || k === 0)) v.target.forEach((unit, t) => g.append(createSvg("text", { x: x - 5, y: y + (t + 0.5) * cell + size * 0.35, "text-anchor": "end", fill: unit.end ? paper.soft : paper.ink }, shortened(unit.text, size, 110))));
    if (hasLabels && (!one || r === 0)) {
      const mirrored = isRightToLeft(v.map.source), n = v.source.length;
      const label = (text, middle, leans, fill) => g.append(createSvg("text", { ...columnLabel(middle, y - 5, size, leans), fill }, shortened(text, size, 110)));
      v.source.forEach((unit, s) => label(unit.text, x + ((mirrored ? n - 1 - s : s) + 0.5) * cell, isAnyWider(v.source, size, cell), unit.end ? paper.soft : paper.ink));
      if (v.rest) label(REST, restColumn(v, x, cell) + cell / 2, true, paper.soft);
    }
    g.append(createSvg("title", {}, panel.caption.join(", ")));
    frames.push(frame);
    svg.append(g);
  });
  return { svg, highlight: () => {}, panels, element: () => null };
}

/* ---- the file ---- */

/* Adds a line of text below a picture. */
function addCaption(svg, text, paper) {
  const width = Math.max(Number(svg.getAttribute("width")), widthOf(text, 12) + 16), height = Number(svg.getAttribute("height")) + 26;
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${height}`);
  svg.append(createSvg("text", { x: 8, y: height - 9, "font-size": 12, fill: paper.soft }, text));
}


function svgText(svg) {
  const copy = svg.cloneNode(true);
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy) + "\n";
}
