/* page.js: the page itself: what is chosen, what is pointed at, and the keys. */

const data = JSON.parse(document.getElementById("data").textContent);
const VIEWS = ["links", "matrix", "text"];
const LOOKS = {
  source: { title: "the target looks at the source", target: "target", source: "source" },
  encoder: { title: "the source looks at itself", target: "looking", source: "looked at" },
  decoder: { title: "each word looks at the words so far", target: "looking", source: "looked at" },
};
const ORDERS = ["unsure", "sure", "file"];
const MOST_PARTNERS = 12;

const sentences = data.sentences.map(hypothesesOf);
const looks = Object.keys(LOOKS).filter((look) => data.sentences.some((maps) => maps.some((map) => map.look === look)));
const firstLook = (data.sentences.find((maps) => maps.length) || [{ look: "source" }])[0].look;

const state = {
  sentence: 0, hypothesis: 0, view: "links", pieces: data.pieces, order: "unsure",
  look: firstLook, heads: { [firstLook]: { layer: data.layer, head: data.head } }, /* of each look */
  theme: "auto", /* or light, dark */
  hover: null, kept: null, /* { side, index, other }: what is pointed at, and what was clicked or reached by keys */
};
let view = null;    /* of the map that is shown */
let picture = null; /* of the view */

const byId = (id) => document.getElementById(id);

function made(name, content, more) {
  const element = document.createElement(name);
  if (content !== undefined) element.append(...[].concat(content));
  for (const key in more) {
    if (key in element) element[key] = more[key];
    else element.setAttribute(key, more[key]);
  }
  return element;
}

const percent = (p) => (p >= 0.9995 ? "100" : p < 0.0001 ? "<0.01" : (100 * p).toFixed(p < 0.1 ? 2 : 1)) + " %";
const signed = (x, digits) => x.toFixed(digits).replace("-", "−");
const hot = () => state.hover || state.kept;
const sentence = () => sentences[state.sentence];
const hypothesis = () => sentence()[state.hypothesis];
const map = () => hypothesis()[state.look] || hypothesis().first;
const chosen = () => state.heads[map().look] || (state.heads[map().look] = { layer: -1, head: -1 });
const remarks = () => remarksOf(map(), chosen().layer, chosen().head);

/* Of the first map of a hypothesis, as the page begins: by it lists are marked and sorted, whatever is looked at now. */
function firstRemarks(hypothesis) {
  const m = hypothesis.first;
  return remarksOf(m, data.layer < m.layers ? data.layer : -1, data.head < m.heads ? data.head : -1);
}

/* ---- light and dark ---- */

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (state.theme === "auto" ? prefersDark.matches : state.theme === "dark");
const paper = () => (isDark() ? PAPERS.dark : PAPERS.light);

function showTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[state.theme];
}

function setTheme(theme) {
  state.theme = theme;
  try { localStorage.setItem("attend-theme", theme); } catch (e) { /* no storage: it is forgotten, no more */ }
  showTheme();
  showPicture();
  showDetail();
}

/* ---- the list of sentences ---- */

function orderOfSentences() {
  const order = sentences.map((_, i) => i).filter((i) => sentences[i].length);
  if (state.order === "file") return order;
  const sign = state.order === "sure" ? -1 : 1;
  const sure = (i) => firstRemarks(sentences[i][0]).confidence || 0;
  return order.sort((a, b) => sign * (sure(a) - sure(b)) || a - b);
}

function showList() {
  const list = byId("sentences");
  list.replaceChildren(...orderOfSentences().map((i) => {
    const first = sentences[i][0].first, said = firstRemarks(sentences[i][0]);
    const bar = made("span", [], { className: "bar" });
    bar.style.setProperty("--share", said.confidence || 0);
    const marks = first.probability ? [bar, made("span", percent(said.confidence), { className: "figure" })] : [];
    if (said.unseen.length) marks.push(made("span", `${said.unseen.length} unseen`, { className: "mark" }));
    if (said.loop) marks.push(made("span", "loop", { className: "mark" }));
    const button = made("button", [
      made("span", String(i + 1), { className: "count" }),
      made("span", visible(first.source), { className: "line", dir: "auto" }),
      made("span", marks, { className: "under" }),
    ], { type: "button" });
    button.dataset.sentence = i;
    return made("li", button);
  }));
  byId("order").value = state.order;
  markList(false);
}

function markList(scroll) {
  for (const button of document.querySelectorAll("#sentences button")) {
    const here = Number(button.dataset.sentence) === state.sentence;
    button.setAttribute("aria-current", here);
    if (here && scroll) button.scrollIntoView({ block: "nearest" });
  }
}

/* ---- the head of a sentence ---- */

/* A page of a side that looks at itself repeats nothing: what was said is its heading. */
function showHypotheses() {
  const all = sentence()[0].first.look === "source" ? sentence() : [];
  byId("hypotheses").hidden = all.length === 0;
  byId("hypotheses").replaceChildren(...all.map((each, i) => {
    const here = i === state.hypothesis, m = each.first;
    const button = made("button", [
      made("span", m.forced ? "given" : String(i + 1), { className: "count" }),
      made("span", m.target ? visible(m.target) : "(nothing)", { className: "line", dir: "auto" }),
      made("span", percent(firstRemarks(each).confidence), { className: "figure" }),
    ], { type: "button", role: "radio", "aria-checked": here });
    button.dataset.hypothesis = i;
    return button;
  }));
}

function figure(name, value, title) {
  return made("div", [made("dt", name), made("dd", value)], { title });
}

function showFigures() {
  const m = map(), now = remarks(), words = m.sourceWords.length, figures = [];
  if (m.probability) {
    figures.push(figure("confidence", percent(now.confidence), "probability of a piece, geometric mean"));
    figures.push(figure("log probability", signed(number(m.logProbability), 2), "natural logarithm, of the whole"));
    if (m.score !== null && m.score !== m.logProbability)
      figures.push(figure("score", signed(number(m.score), 3), "by which hypotheses are sorted"));
  }
  if (m.weights) figures.push(figure("entropy", now.entropy.toFixed(2) + " bits", "of attention at a step, on average"));
  if (m.weights && m.look === "source")
    figures.push(figure("coverage", `${words - now.unseen.length} of ${words} words`, "source words that were looked at"));
  byId("figures").replaceChildren(...figures);

  const warnings = [];
  const quoted = (text) => made("q", text, { dir: "auto" });
  if (now.unseen.length) {
    const some = now.unseen.slice(0, 8).flatMap((i) => [" ", quoted(visible(m.sourceWords[i]))]);
    warnings.push(made("li", ["Never looked at:", ...some, now.unseen.length > 8 ? ` and ${now.unseen.length - 8} more` : ""]));
  }
  if (now.loop) warnings.push(made("li", ["Says the same again and again: ", quoted(visible(now.loop.said))]));
  if (now.broken) warnings.push(made("li", "Some weights are not numbers; they are shown as 0."));
  if (!m.weights) warnings.push(made("li", "This model has no attention: there are only its words and their probabilities."));
  byId("warnings").replaceChildren(...warnings);
}

function fillChoice(id, count, chosen) {
  const options = [made("option", "mean", { value: -1 })];
  for (let i = 0; i < count; i++) options.push(made("option", String(i), { value: i })); /* from 0, as the command counts */
  byId(id).replaceChildren(...options);
  byId(id).value = chosen;
  byId(id + "-choice").hidden = count < 2;
}

function showLooks() {
  byId("looks").hidden = looks.length === 1 && looks[0] === "source";
  for (const button of document.querySelectorAll("[data-look]")) {
    const look = button.dataset.look, here = Boolean(hypothesis()[look]);
    button.disabled = !here;
    button.title = LOOKS[look].title + (here ? " (l)" : `: left out here, as the page would be too large; attend show --look ${look} shows it`);
    button.setAttribute("aria-pressed", look === map().look);
  }
}

function showTools() {
  const m = map(), now = chosen();
  showLooks();
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", button.dataset.view === shownView());
    button.disabled = !m.weights && button.dataset.view !== "text";
  }
  for (const button of document.querySelectorAll("[data-pieces]"))
    button.setAttribute("aria-pressed", Boolean(button.dataset.pieces) === state.pieces);
  if (now.layer >= m.layers) now.layer = -1;
  if (now.head >= m.heads) now.head = -1;
  fillChoice("layer", m.weights ? m.layers : 0, now.layer);
  fillChoice("head", m.weights ? m.heads : 0, now.head);
  byId("save").disabled = !m.weights;
}

/* ---- the picture ---- */

const shownView = () => (map().weights ? state.view : "text");

/* Running text: for long sentences, and where there is nothing to draw. */
function drawText(marks) {
  const spans = { source: [], target: [] };
  const paragraphs = ["source", "target"].map((side) => {
    const p = made("p", [], { className: "text " + side, dir: isRightToLeft(view.map[side]) ? "rtl" : "ltr" });
    view[side].forEach((unit, i) => {
      const span = made("span", unit.text, { className: "unit" });
      span.dataset.side = side;
      span.dataset.index = i;
      if (unit.end) span.classList.add("end");
      if (isMarked(unit, side, marks)) span.classList.add("marked");
      if (i > 0 && !unit.joined) p.append(" ");
      p.append(span);
      spans[side].push(span);
    });
    return p;
  });
  function heat(now) {
    for (const side of ["source", "target"])
      spans[side].forEach((span, i) => {
        const weight = now && now.side !== side ? weightWith(view, now, i) : 0;
        span.style.backgroundColor = weight >= 0.005 ? colourOf(paper(), weight) : "";
        span.style.color = weight > 0.5 ? paper().paper : "";
        span.classList.toggle("self", Boolean(now && now.side === side && now.index === i));
      });
  }
  return { paragraphs, heat, element: (side, i) => spans[side][i] || null };
}

function roomForPicture() {
  const box = byId("view"), style = getComputedStyle(box);
  return Math.max(260, box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
}

function showPicture() {
  if (!view) return;
  const box = byId("view"), kind = shownView();
  box.className = kind;
  if (kind === "text") {
    picture = drawText(remarks());
    box.replaceChildren(...picture.paragraphs);
  } else {
    picture = (kind === "links" ? drawLinks : drawMatrix)(view, remarks(), paper(), roomForPicture());
    box.replaceChildren(picture.svg);
  }
  if (picture.follow) picture.follow(box.scrollLeft, box.scrollTop);
  picture.heat(hot());
}

/* ---- what is said about a word ---- */

function meter(weight, label, value, side, chosen) {
  const bar = made("span", [], { className: "meter" });
  bar.style.setProperty("--share", Math.min(1, weight));
  return made("li", [made("span", label, { className: "name", dir: isRightToLeft(view.map[side]) ? "rtl" : "ltr" }), bar, made("span", value, { className: "figure" })],
    { className: chosen ? "chosen" : "" });
}

function partnersOf(now) {
  const other = now.side === "target" ? "source" : "target";
  const list = view[other].map((unit, i) => ({ unit, weight: weightWith(view, now, i) })).filter((p) => p.weight >= 0.00005);
  list.sort((a, b) => b.weight - a.weight);
  const items = list.slice(0, MOST_PARTNERS).map((p) => meter(p.weight, p.unit.text, exact(p.weight), other));
  const rest = list.slice(MOST_PARTNERS);
  if (rest.length) items.push(made("li", `${rest.length} more, ${exact(rest.reduce((sum, p) => sum + p.weight, 0))} together`, { className: "rest" }));
  if (!items.length) items.push(made("li", "nothing", { className: "rest" }));
  return made("ul", items, { className: "meters" });
}

/* Of the pieces that were said: an encoder says none, and nobody says the beginning. */
function alternativesOf(unit) {
  const m = map(), pieces = m.probability ? unit.pieces.filter((piece) => m.probability[piece] !== null) : [];
  return pieces.flatMap((piece) => {
    const said = m.targetPieces[piece], choices = m.choices[piece], place = choices.findIndex(([text]) => text === said);
    const items = choices.map(([text, p], i) => meter(number(p), visible(text), exact(number(p)), "target", i === place));
    if (place < 0) items.push(meter(number(m.probability[piece]), visible(said), exact(number(m.probability[piece])), "target", true));
    const step = unit.pieces.length > 1 ? [made("h5", [`step ${piece + (m.look === "decoder" ? 0 : 1)}: `, made("bdi", visible(said))])] : [];
    return [...step, made("ul", items, { className: "meters" })];
  });
}

function legend() {
  const scale = made("div", [], { className: "scale" });
  for (let i = 0; i <= 12; i++) {
    const step = made("i", []);
    step.style.backgroundColor = colourOf(paper(), i / 12);
    scale.append(step);
  }
  return made("div", [scale, made("div", [made("span", "0"), made("span", "weight"), made("span", "1")], { className: "ends" })], { className: "legend" });
}

function showDetail() {
  const now = hot(), box = byId("detail");
  if (!view) return;
  if (!now) {
    box.replaceChildren(made("p", "Point at a word to see its partners.", { className: "hint" }),
      made("p", ["Or use the arrow keys; ", made("kbd", "?"), " lists all keys."], { className: "hint" }), ...(map().weights ? [legend()] : []));
    box.classList.add("idle");
    return;
  }
  box.classList.remove("idle");
  const unit = view[now.side][now.index], parts = [made("p", LOOKS[map().look][now.side], { className: "side" }), made("h3", made("bdi", unit.text))];
  if (now.side === "target") {
    const says = Number.isNaN(unit.probability) ? [] : [made("span", `probability ${exact(unit.probability)}`)];
    if (map().weights) says.push(" ", made("span", `entropy ${unit.entropy.toFixed(2)} bits`));
    parts.push(made("p", says, { className: "says" }));
    if (map().weights) parts.push(made("section", [made("h4", "Looks at"), partnersOf(now)]));
    const alternatives = alternativesOf(unit);
    if (alternatives.length) parts.push(made("section", [made("h4", "Alternatives"), ...alternatives]));
  } else if (map().weights) {
    parts.push(made("p", `coverage ${exact(unit.coverage)}` + (isMarked(unit, "source", remarks()) ? " · never looked at" : ""), { className: "says" }),
      made("section", [made("h4", "Is looked at by"), partnersOf(now)]));
  }
  box.replaceChildren(...parts);
  box.scrollTop = 0;
}

/* ---- changes ---- */

function point(now, keep) {
  const same = (a, b) => (a === null || b === null ? a === b : a.side === b.side && a.index === b.index && a.other === b.other);
  const before = hot();
  if (keep) state.kept = now, state.hover = null;
  else state.hover = now;
  if (same(before, hot())) return;
  picture.heat(hot());
  showDetail();
}

function reveal() {
  const now = state.kept, box = byId("view");
  if (!now) return;
  if (picture.box) {
    const place = picture.box(now);
    if (place.x !== null) box.scrollLeft = Math.max(Math.min(box.scrollLeft, place.x - place.left - 8), place.x + 2 * place.cell - box.clientWidth);
    if (place.y !== null) box.scrollTop = Math.max(Math.min(box.scrollTop, place.y - place.top - 8), place.y + 2 * place.cell - box.clientHeight);
    return;
  }
  const element = picture.element(now.side, now.index);
  if (!element) return;
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const detail = byId("detail"), hidden = element.getBoundingClientRect().bottom + 24 - detail.getBoundingClientRect().top;
  if (getComputedStyle(detail).position === "fixed" && hidden > 0) scrollBy(0, hidden); /* a phone: the word would lie below what is said about it */
}

function showMap() {
  state.hover = state.kept = null;
  showHypotheses();
  refresh();
}

/* The same map, in another way. */
function refresh() {
  showTools();
  showFigures();
  view = viewOf(map(), state.pieces, chosen().layer, chosen().head);
  if (state.kept && !view[state.kept.side][state.kept.index]) state.kept = null;
  if (state.kept) state.kept = { side: state.kept.side, index: state.kept.index };
  state.hover = null;
  showPicture();
  showDetail();
}

function chooseSentence(i) {
  state.sentence = i;
  state.hypothesis = 0;
  const text = sentence()[0].first.source;
  byId("source-text").textContent = text ? visible(text) : "(nothing)";
  markList(true);
  byId("view").scrollTo(0, 0);
  showMap();
}

function chooseHypothesis(i) {
  const n = sentence().length;
  state.hypothesis = (i + n) % n;
  showMap();
}

function choosePieces(pieces) {
  if (state.pieces === pieces) return;
  state.pieces = pieces;
  state.kept = null;
  refresh();
}

function chooseView(kind) {
  if (!map().weights) return;
  state.view = kind;
  refresh();
  reveal();
}

function chooseLook(look) {
  if (!hypothesis()[look] || look === map().look) return;
  state.look = look;
  state.kept = null;
  byId("view").scrollTo(0, 0);
  refresh();
}

function nextLook(step) {
  const here = looks.filter((look) => hypothesis()[look]);
  chooseLook(here[(here.indexOf(map().look) + step + here.length) % here.length]);
}

function chooseOrder(order) {
  state.order = order;
  showList();
  markList(true);
}

function chooseHead(step) {
  const m = map(), n = m.layers * m.heads, was = chosen();
  if (!m.weights || n < 2) return;
  const one = was.layer >= 0 || was.head >= 0, between = was.layer >= 0 && was.head < 0 && m.heads > 1; /* a layer's mean stands before its heads */
  let now = between ? was.layer * m.heads + (step < 0) : one ? 1 + Math.max(was.layer, 0) * m.heads + Math.max(was.head, 0) : 0;
  now = (now + step + n + 1) % (n + 1);
  was.layer = now ? Math.floor((now - 1) / m.heads) : -1;
  was.head = now ? (now - 1) % m.heads : -1;
  refresh();
}

function save() {
  if (!map().weights) return;
  const kind = shownView() === "matrix" ? "matrix" : "links";
  const drawing = (kind === "matrix" ? drawMatrix : drawLinks)(view, remarks(), paper(), Math.max(roomForPicture(), 480));
  if (state.kept) drawing.heat(state.kept);
  const url = URL.createObjectURL(new Blob([svgText(drawing.svg)], { type: "image/svg+xml" }));
  const link = made("a", [], { href: url, download: `attention-${state.sentence + 1}-${state.hypothesis + 1}-${map().look === "source" ? "" : map().look + "-"}${kind}.svg` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/* ---- pointing ---- */

function placeOf(event) {
  const element = event.target.closest("[data-side]");
  if (element) return { side: element.dataset.side, index: Number(element.dataset.index) };
  if (!picture || !picture.cellAt) return null;
  const frame = picture.svg.getBoundingClientRect();
  return picture.cellAt(event.clientX - frame.left, event.clientY - frame.top);
}

function listenToPointer() {
  const box = byId("view");
  box.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") point(placeOf(event), false); });
  box.addEventListener("pointerleave", () => point(null, false));
  box.addEventListener("click", (event) => {
    const now = placeOf(event), kept = state.kept;
    const again = now && kept && now.side === kept.side && now.index === kept.index && now.other === kept.other;
    point(again ? null : now, true);
    if (!picture.box) reveal();
  });
  box.addEventListener("scroll", () => { if (picture && picture.follow) picture.follow(box.scrollLeft, box.scrollTop); });
  byId("sentences").addEventListener("click", (event) => {
    const button = event.target.closest("[data-sentence]");
    if (!button) return;
    openList(false);
    chooseSentence(Number(button.dataset.sentence));
  });
  byId("hypotheses").addEventListener("click", (event) => {
    const button = event.target.closest("[data-hypothesis]");
    if (button) chooseHypothesis(Number(button.dataset.hypothesis));
  });
  document.querySelector(".tools").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.look) chooseLook(button.dataset.look);
    else if (button.dataset.view) chooseView(button.dataset.view);
    else if (button.dataset.pieces !== undefined) choosePieces(Boolean(button.dataset.pieces));
    else save();
  });
  byId("order").addEventListener("change", (event) => chooseOrder(event.target.value));
  for (const id of ["layer", "head"])
    byId(id).addEventListener("change", (event) => { chosen()[id] = Number(event.target.value); refresh(); });
  byId("theme").addEventListener("click", nextTheme);
  byId("help-open").addEventListener("click", openHelp);
  byId("open-list").addEventListener("click", () => openList(!document.body.classList.contains("listing")));
}

function openList(open) {
  document.body.classList.toggle("listing", open);
  byId("open-list").setAttribute("aria-expanded", open);
}

function openHelp() {
  byId("help").showModal();
  byId("help").scrollTop = 0; /* its button, at the end, is what has the focus */
}

function nextTheme() {
  const themes = ["auto", "light", "dark"];
  setTheme(themes[(themes.indexOf(state.theme) + 1) % 3]);
}

/* ---- keys ---- */

/* Where an arrow leads. Arrows follow the picture: in a sentence written from right to left, the left one goes on. */
function moved(key) {
  const now = state.kept;
  const last = (side) => view[side].length - 1;
  const clamp = (side, i) => Math.max(0, Math.min(last(side), i));
  if (last("source") < 0 || last("target") < 0) return null;
  if (!now) return picture.cellAt ? { side: "target", index: 0, other: 0 } : { side: "target", index: 0 };
  if (key === "Home" || key === "End") return { ...now, index: key === "Home" ? 0 : last(now.side) };
  const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  if (picture.cellAt) {
    const t = now.side === "target" ? now.index : now.other ?? 0, s = now.side === "source" ? now.index : now.other ?? 0;
    if (key === "ArrowUp" || key === "ArrowDown") return { side: "target", index: clamp("target", t + step), other: s };
    return { side: "target", index: t, other: clamp("source", s + (picture.mirrored ? -step : step)) };
  }
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  if (sideways === (picture.rows !== false)) {
    const mirrored = sideways && isRightToLeft(view.map[now.side]);
    return { side: now.side, index: clamp(now.side, now.index + (mirrored ? -step : step)) };
  }
  const side = step > 0 ? "target" : "source";
  if (side === now.side) return now;
  let best = 0; /* over to the strongest partner */
  view[side].forEach((_, i) => { if (weightWith(view, now, i) > weightWith(view, now, best)) best = i; });
  return { side, index: best };
}

function nextSentence(step) {
  const order = orderOfSentences(), at = order.indexOf(state.sentence) + step;
  if (at >= 0 && at < order.length) chooseSentence(order[at]);
}

const KEYS = {
  j: () => nextSentence(1), k: () => nextSentence(-1),
  h: () => chooseHypothesis(state.hypothesis + 1), H: () => chooseHypothesis(state.hypothesis - 1),
  1: () => chooseView("links"), 2: () => chooseView("matrix"), 3: () => chooseView("text"),
  l: () => nextLook(1), L: () => nextLook(-1), w: () => choosePieces(!state.pieces), a: () => chooseHead(1), A: () => chooseHead(-1),
  o: () => chooseOrder(ORDERS[(ORDERS.indexOf(state.order) + 1) % ORDERS.length]),
  d: nextTheme, s: save, "?": openHelp,
  Escape: () => { openList(false); point(null, true); },
};

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open || event.target.closest("select")) return;
    if (/^Arrow|^Home$|^End$/.test(event.key)) {
      const now = moved(event.key);
      if (!now) return;
      point(now, true);
      reveal();
    } else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
}

/* ---- beginning ---- */

function begin() {
  try { state.theme = { light: "light", dark: "dark" }[localStorage.getItem("attend-theme")] || "auto"; } catch (e) { state.theme = "auto"; }
  showTheme();
  byId("title").textContent = data.title || "Where it looked";
  for (const button of document.querySelectorAll("[data-look]")) if (!looks.includes(button.dataset.look)) button.remove();
  const order = orderOfSentences();
  if (!order.length) {
    document.body.classList.add("empty");
    byId("source-text").textContent = "There are no sentences on this page.";
    return;
  }
  document.body.classList.toggle("single", order.length === 1);
  listenToPointer();
  listenToKeys();
  showList();
  chooseSentence(order[0]);
  prefersDark.addEventListener("change", () => setTheme(state.theme));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return; /* a phone's bars come and go */
    width = innerWidth;
    showPicture();
  });
}

begin();
