/* page.js: the page: its state, what is selected, and the keys. */

const WIDE = 1000; /* pixels from which links and matrix are shown beside each other */
const KINDS = {
  cross: { title: "the target attends to the source", target: "target", source: "source" },
  encoder: { title: "the source attends to itself", target: "attends", source: "attended to" },
  decoder: { title: "each word attends to itself and the words before it", target: "attends", source: "attended to" },
};
const ORDERS = ["low", "high", "file"]; /* of the sentences, by confidence */
const MAX_PARTNERS = 12;

const sentences = data.sentences.map(hypothesesOf);
const kinds = Object.keys(KINDS).filter((kind) => data.sentences.some((maps) => maps.some((map) => map.attention === kind)));
const firstKind = (data.sentences.find((maps) => maps.length) || [{ attention: "cross" }])[0].attention;

const hasModels = data.models.length > 1;
const state = {
  sentence: 0, hypothesis: 0, view: data.allHeads ? "heads" : hasModels ? "models" : "links", byToken: data.byToken, order: "low",
  kind: firstKind, heads: {}, /* of each model and attention kind */
  theme: "auto", /* or light, dark */
  hover: null, selected: null, /* { side, index, other }: what the pointer is on, and what is selected by click or keys */
};
let view = null;    /* of the map that is shown */
let picture = null; /* of the view */
let beside = null;  /* the other picture of a wide window, or null */

const byId = (id) => document.getElementById(id);

function create(name, content, more) {
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
const active = () => state.hover || state.selected;
const sentence = () => sentences[state.sentence];
const hypothesis = () => sentence()[state.hypothesis];
const map = () => hypothesis()[state.kind] || hypothesis().first;
const chosenOf = (m) => {
  const key = modelOf(m) + m.attention, start = data.models[modelOf(m)];
  return state.heads[key] || (state.heads[key] = m.attention === firstKind ? { layer: start.layer, head: start.head } : { layer: -1, head: -1 });
};
const chosen = () => chosenOf(map());
const statistics = () => statisticsOf(map(), chosen().layer, chosen().head);

/* Of the first map of a hypothesis with the page's initial layer and head. The lists are marked and sorted by it, whatever is shown now. */
function firstStatistics(hypothesis) {
  const m = hypothesis.first, start = data.models[modelOf(m)];
  return statisticsOf(m, start.layer < m.layers ? start.layer : -1, start.head < m.heads ? start.head : -1);
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
  try { localStorage.setItem("attend-theme", theme); } catch (e) { /* without storage the choice is not remembered */ }
  showTheme();
  showPicture();
  showDetail();
}

/* ---- the list of sentences ---- */

function orderOfSentences() {
  const order = sentences.map((_, i) => i).filter((i) => sentences[i].length);
  if (state.order === "file") return order;
  const sign = state.order === "high" ? -1 : 1;
  const confidence = (i) => firstStatistics(sentences[i][0]).confidence || 0;
  return order.sort((a, b) => sign * (confidence(a) - confidence(b)) || a - b);
}

function showList() {
  const list = byId("sentences");
  list.replaceChildren(...orderOfSentences().map((i) => {
    const first = sentences[i][0].first, summary = firstStatistics(sentences[i][0]);
    const bar = create("span", [], { className: "bar" });
    bar.style.setProperty("--share", summary.confidence || 0);
    const marks = first.probability ? [bar, create("span", percent(summary.confidence), { className: "figure" })] : [];
    if (summary.uncovered.length) marks.push(create("span", `${summary.uncovered.length} uncovered`, { className: "mark" }));
    if (summary.loop) marks.push(create("span", "repeats", { className: "mark" }));
    const button = create("button", [
      create("span", String(i + 1), { className: "count" }),
      create("span", visible(first.source), { className: "line", dir: "auto" }),
      create("span", marks, { className: "under" }),
    ], { type: "button" });
    button.dataset.sentence = i;
    return create("li", button);
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

/* With self-attention only, there is no list: the heading already shows the text. */
function showHypotheses() {
  const all = sentence()[0].first.attention === "cross" ? sentence() : [];
  byId("hypotheses").hidden = all.length === 0;
  byId("hypotheses").replaceChildren(...all.map((each, i) => {
    const here = i === state.hypothesis, m = each.first;
    const button = create("button", [
      create("span", hasModels ? data.models[modelOf(m)].name : m.forced ? "given" : String(i + 1), { className: "count" }),
      create("span", m.target ? visible(m.target) : "(empty)", { className: "line", dir: "auto" }),
      create("span", percent(firstStatistics(each).confidence), { className: "figure" }),
    ], { type: "button", role: "radio", "aria-checked": here });
    button.dataset.hypothesis = i;
    return button;
  }));
}

function figure(name, value, title) {
  return create("div", [create("dt", name), create("dd", value)], { title });
}

function showFigures() {
  const m = map(), now = statistics(), words = m.sourceWords.length, figures = [];
  if (m.probability) {
    figures.push(figure("confidence", percent(now.confidence), "geometric mean of the token probabilities"));
    figures.push(figure("log probability", signed(number(m.logProbability), 2), "natural logarithm, of the whole target"));
    if (m.score !== null && m.score !== m.logProbability)
      figures.push(figure("score", signed(number(m.score), 3), "hypotheses are sorted by it"));
  }
  if (m.weights) figures.push(figure("entropy", now.entropy.toFixed(2) + " bits", "of the attention of a step, mean over the steps"));
  if (m.weights && m.attention === "cross")
    figures.push(figure("coverage", `${words - now.uncovered.length} of ${words} ${m.unit}`, `source ${m.unit} that receive attention of 0.2 or more in all`));
  byId("figures").replaceChildren(...figures);

  const warnings = [];
  const quoted = (text) => create("q", text, { dir: "auto" });
  const listed = (title, words) => {
    const some = words.slice(0, 8).flatMap((word) => [" ", quoted(visible(word))]);
    if (words.length) warnings.push(create("li", [title, ...some, words.length > 8 ? ` and ${words.length - 8} more` : ""]));
  };
  listed(`Not in the training data (${UNKNOWN}):`, unknownWords(m.sourceUnknown, m.sourceWord, m.sourceWords));
  listed("Not covered:", now.uncovered.map((i) => m.sourceWords[i]));
  if (now.loop) warnings.push(create("li", ["Repetition: ", quoted(visible(now.loop.text))]));
  if (now.broken) warnings.push(create("li", "Some weights are non-finite; they are shown as 0."));
  if (!m.weights) warnings.push(create("li", "This model has no attention: only its tokens and their probabilities are shown."));
  byId("warnings").replaceChildren(...warnings);
}

/* As attend_view_caption writes it. */
function captionOf(m, { layer, head }, withModel) {
  const name = { cross: "cross-attention", encoder: "encoder self-attention", decoder: "decoder self-attention" }[m.attention];
  const allLayers = layer < 0 && m.layers > 1, allHeads = head < 0 && m.heads > 1, model = data.models[modelOf(m)].name;
  const layers = m.layers < 2 ? "" : allLayers ? `, mean of ${m.layers} layers` : `, layer ${layer}`;
  const heads = m.heads < 2 ? "" : !allHeads ? `, head ${head}` : allLayers ? ` and ${m.heads} heads` : `, mean of ${m.heads} heads`;
  const unknown = m.sourceUnknown.length + m.targetUnknown.length > 0 ? `; ${UNKNOWN} not in the training data` : "";
  return (withModel && model ? visible(model) + ": " : "") + name + layers + heads + unknown;
}

const caption = () => {
  const m = map(), all = shownView() === "heads";
  if (!m.weights || shownView() === "models") return "";
  return all ? captionOf(m, { layer: -1, head: -1 }, true).replace("mean of", "all") : captionOf(m, chosen(), true);
};

function fillChoice(id, count, chosen) {
  const options = [create("option", "mean", { value: -1 })];
  for (let i = 0; i < count; i++) options.push(create("option", String(i), { value: i })); /* counted from 0, as in the command */
  byId(id).replaceChildren(...options);
  byId(id).value = chosen;
  byId(id + "-choice").hidden = count < 2;
}

function showKinds() {
  byId("kinds").hidden = kinds.length === 1 && kinds[0] === "cross";
  for (const button of document.querySelectorAll("[data-kind]")) {
    const kind = button.dataset.kind, here = Boolean(hypothesis()[kind]);
    button.disabled = !here;
    button.title = KINDS[kind].title + (here ? " (l)" : hasModels ? ": not on this page for this model" : ": left out to keep the page small; make a page of this attention kind alone");
    button.setAttribute("aria-pressed", kind === map().attention);
  }
}

function showTools() {
  const m = map(), now = chosen();
  showKinds();
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", button.dataset.view === shownView());
    button.disabled = !m.weights && button.dataset.view !== "text";
    button.hidden = !isPossible(button.dataset.view);
  }
  document.querySelector('[data-by-token=""]').textContent = { letters: "Letters", tokens: "Pieces" }[map().unit] ?? "Words";
  for (const button of document.querySelectorAll("[data-by-token]"))
    button.setAttribute("aria-pressed", Boolean(button.dataset.byToken) === state.byToken);
  if (now.layer >= m.layers) now.layer = -1;
  if (now.head >= m.heads) now.head = -1;
  fillChoice("layer", m.weights ? m.layers : 0, now.layer);
  fillChoice("head", m.weights ? m.heads : 0, now.head);
  byId("save").disabled = !m.weights;
}

/* ---- the picture ---- */

const isPossible = (kind) => (kind === "heads" ? map().layers * map().heads > 1 : kind === "models" ? hasModels : true);
const shownView = () => (!map().weights ? "text" : isPossible(state.view) ? state.view : "matrix");

/* What a map shows as one: a word, a letter or a token. */
const unitOf = (m) => m.unit.replace(/s$/, "");

/* What the shades of words mean while none is selected. */
function shadesOf(m) {
  const source = m.weights && m.attention === "cross", target = Boolean(m.probability);
  const unit = unitOf(m);
  if (source && target) return `The more a source ${unit} is shaded, the less attention it receives in all; the more a target ${unit} is shaded, the less probable it is.`;
  return target ? `The more a ${unit} below is shaded, the less probable it is.` : `No ${unit} has a probability here.`;
}

/* Running text: for long sentences and for models without attention. */
function drawText(marks) {
  const spans = { source: [], target: [] };
  const paragraphs = ["source", "target"].map((side) => {
    const p = create("p", [], { className: "text " + side, dir: isRightToLeft(view.map[side]) ? "rtl" : "ltr" });
    view[side].forEach((unit, i) => {
      const span = create("span", unit.text, { className: "unit" });
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
  const note = create("p", `${shadesOf(map())} Point at a ${unitOf(map())} to see its weights instead.`, { className: "note" });
  /* Without a selection: what a source word lacks in coverage, and a target word in probability. */
  function doubt(side, unit) {
    if (side === "target") return 1 - unit.probability; /* NaN: it has none */
    return map().weights && map().attention === "cross" ? 1 - unit.coverage : 0;
  }
  function highlight(now) {
    for (const side of ["source", "target"])
      spans[side].forEach((span, i) => {
        const weight = !now ? doubt(side, view[side][i]) : now.side !== side ? weightWith(view, now, i) : 0;
        span.style.backgroundColor = weight >= 0.005 ? colourOf(paper(), weight) : "";
        span.style.color = weight >= 0.005 ? inkOn(paper(), weight) : "";
        span.classList.toggle("self", Boolean(now && now.side === side && now.index === i));
      });
  }
  return { paragraphs: [note, ...paragraphs], highlight, element: (side, i) => spans[side][i] || null };
}

function roomForPicture() {
  const box = byId("view"), style = getComputedStyle(box);
  return Math.max(260, box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
}

/* All layers and heads of the map; a click shows one of them. */
function headPanels(m) {
  const panels = [];
  for (let layer = 0; layer < m.layers; layer++)
    for (let head = 0; head < m.heads; head++) {
      const name = [m.layers > 1 ? `layer ${layer}` : "", m.heads > 1 ? `head ${head}` : ""].filter(Boolean).join(", ");
      const choose = () => { Object.assign(chosen(), { layer, head }); chooseView("matrix"); };
      panels.push({ view: viewOf(m, state.byToken, layer, head), caption: [name], choose, chosen: chosen().layer === layer && chosen().head === head });
    }
  return panels;
}

/* The best hypothesis of each model; a click shows it. */
function modelPanels() {
  return data.models.flatMap((model, i) => {
    const at = sentence().findIndex((h) => modelOf(h.first) === i), m = at < 0 ? null : sentence()[at][map().attention];
    if (!m || !m.weights) return [];
    const choose = () => { state.view = "matrix"; chooseHypothesis(at); };
    return [{ view: viewOf(m, state.byToken, chosenOf(m).layer, chosenOf(m).head), caption: [visible(model.name), captionOf(m, chosenOf(m), false)], choose, chosen: at === state.hypothesis }];
  });
}

function drawSeveral(kind, room) {
  return kind === "models" ? drawPanels(modelPanels(), paper(), room, data.models.length) : drawPanels(headPanels(map()), paper(), room, map().heads > 1 ? map().heads : map().layers);
}

/* Links and matrix, if both have enough room. */
function drawBoth(kind, room) {
  const half = (room - 24) / 2, links = drawLinks(view, statistics(), paper(), half), matrix = drawMatrix(view, statistics(), paper(), half);
  if (Number(matrix.svg.getAttribute("width")) > half || Number(links.svg.getAttribute("width")) > half) return null;
  return kind === "links" ? [links, matrix] : [matrix, links];
}

function showPicture() {
  if (!view) return;
  const box = byId("view"), kind = shownView(), room = roomForPicture();
  const both = room >= WIDE && (kind === "links" || kind === "matrix") ? drawBoth(kind, room) : null;
  box.className = kind + (both ? " both" : "");
  byId("caption").textContent = caption();
  beside = both ? both[1] : null;
  if (both) {
    picture = both[0];
    box.replaceChildren(...(kind === "links" ? both : [both[1], both[0]]).map((p) => p.svg));
  } else if (kind === "text") {
    picture = drawText(statistics());
    box.replaceChildren(...picture.paragraphs);
  } else {
    picture = kind === "links" ? drawLinks(view, statistics(), paper(), room) : kind === "matrix" ? drawMatrix(view, statistics(), paper(), room) : drawSeveral(kind, room);
    box.replaceChildren(picture.svg);
  }
  follow();
  highlight();
}

function highlight() {
  picture.highlight(active());
  if (beside) beside.highlight(active());
}

/* The labels of a matrix stay in sight. */
function follow() {
  const box = byId("view");
  for (const shown of [picture, beside]) if (shown && shown.follow) shown.follow(box.scrollLeft, box.scrollTop);
}

/* ---- details of a word ---- */

function meter(weight, label, value, side, chosen) {
  const bar = create("span", [], { className: "meter" });
  bar.style.setProperty("--share", Math.min(1, weight));
  return create("li", [create("span", label, { className: "name", dir: isRightToLeft(view.map[side]) ? "rtl" : "ltr" }), bar, create("span", value, { className: "figure" })],
    { className: chosen ? "chosen" : "" });
}

function partnersOf(now) {
  const other = now.side === "target" ? "source" : "target";
  const list = view[other].map((unit, i) => ({ unit, weight: weightWith(view, now, i) })).filter((p) => p.weight >= 0.00005);
  list.sort((a, b) => b.weight - a.weight);
  const items = list.slice(0, MAX_PARTNERS).map((p) => meter(p.weight, p.unit.text, exact(p.weight), other));
  const rest = list.slice(MAX_PARTNERS);
  if (rest.length) items.push(create("li", `${rest.length} more, ${exact(rest.reduce((sum, p) => sum + p.weight, 0))} together`, { className: "rest" }));
  const left = now.side === "target" ? view.target[now.index].rest : 0;
  if (left >= 0.00005) items.push(meter(left, REST, exact(left), "target"));
  if (!items.length) items.push(create("li", "none", { className: "rest" }));
  return create("ul", items, { className: "meters" });
}

/* The candidates of each token of a unit. An encoder's map has none, and "<s>" has none. */
function candidatesOf(unit) {
  const m = map(), tokens = m.probability ? unit.tokens.filter((token) => m.probability[token] !== null) : [];
  return tokens.flatMap((token) => {
    const chosen = m.targetTokens[token], candidates = m.candidates[token], rank = candidates.findIndex(([text]) => text === chosen);
    const items = candidates.map(([text, p], i) => meter(number(p), visible(text), exact(number(p)), "target", i === rank));
    if (rank < 0) items.push(meter(number(m.probability[token]), visible(chosen), exact(number(m.probability[token])), "target", true));
    const step = unit.tokens.length > 1 ? [create("h5", [`step ${token + (m.attention === "decoder" ? 0 : 1)}: `, create("bdi", visible(chosen))])] : [];
    return [...step, create("ul", items, { className: "meters" })];
  });
}

function legend() {
  const scale = create("div", [], { className: "scale" });
  for (let i = 0; i <= 12; i++) {
    const step = create("i", []);
    step.style.backgroundColor = colourOf(paper(), i / 12);
    scale.append(step);
  }
  return create("div", [scale, create("div", [create("span", "0"), create("span", "weight"), create("span", "1")], { className: "ends" })], { className: "legend" });
}

function showDetail() {
  const now = active(), box = byId("detail");
  if (!view) return;
  if (!now) {
    box.replaceChildren(create("p", picture.panels ? "Click on a map to enlarge it." : `Point at a ${unitOf(map())} to see its weights.`, { className: "hint" }),
      create("p", ["Or use the arrow keys; ", create("kbd", "?"), " lists all keys and explains the numbers."], { className: "hint" }), ...(map().weights ? [legend()] : []));
    box.classList.add("idle");
    return;
  }
  box.classList.remove("idle");
  const unit = view[now.side][now.index], parts = [create("p", KINDS[map().attention][now.side], { className: "side" }), create("h3", create("bdi", unit.text))];
  if (now.side === "target") {
    const summary = Number.isNaN(unit.probability) ? [] : [create("span", `probability ${exact(unit.probability)}`)];
    if (map().weights) summary.push(" ", create("span", `entropy ${unit.entropy.toFixed(2)} bits`));
    parts.push(create("p", summary, { className: "summary" }));
    if (map().weights) parts.push(create("section", [create("h4", "Attends to"), partnersOf(now)]));
    const candidates = candidatesOf(unit);
    if (candidates.length) parts.push(create("section", [create("h4", "Candidates"), ...candidates]));
  } else if (map().weights) {
    parts.push(create("p", `coverage ${exact(unit.coverage)}` + (isMarked(unit, "source", statistics()) ? " · not covered" : ""), { className: "summary" }),
      create("section", [create("h4", "Receives attention from"), partnersOf(now)]));
  }
  box.replaceChildren(...parts);
  box.scrollTop = 0;
}

/* ---- changes ---- */

function point(now, keep) {
  const same = (a, b) => (a === null || b === null ? a === b : a.side === b.side && a.index === b.index && a.other === b.other);
  const before = active();
  if (keep) state.selected = now, state.hover = null;
  else state.hover = now;
  if (same(before, active())) return;
  highlight();
  showDetail();
}

function reveal() {
  const now = state.selected, box = byId("view");
  if (!now) return;
  if (picture.box) {
    const area = picture.box(now);
    if (area.x !== null) box.scrollLeft = Math.max(Math.min(box.scrollLeft, area.x - area.left - 8), area.x + 2 * area.cell - box.clientWidth);
    if (area.y !== null) box.scrollTop = Math.max(Math.min(box.scrollTop, area.y - area.top - 8), area.y + 2 * area.cell - box.clientHeight);
    return;
  }
  const element = picture.element(now.side, now.index);
  if (!element) return;
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const detail = byId("detail"), hidden = element.getBoundingClientRect().bottom + 24 - detail.getBoundingClientRect().top;
  if (getComputedStyle(detail).position === "fixed" && hidden > 0) scrollBy(0, hidden); /* on a phone, the details would cover the word */
}

function showMap() {
  state.hover = state.selected = null;
  showHypotheses();
  refresh();
}

/* Shows the same map with other settings. */
function refresh() {
  showTools();
  showFigures();
  view = viewOf(map(), state.byToken, chosen().layer, chosen().head);
  if (state.selected && !view[state.selected.side][state.selected.index]) state.selected = null;
  if (state.selected) state.selected = { side: state.selected.side, index: state.selected.index };
  state.hover = null;
  showPicture();
  showDetail();
}

function chooseSentence(i) {
  state.sentence = i;
  state.hypothesis = 0;
  const text = sentence()[0].first.source;
  byId("source-text").textContent = text ? visible(text) : "(empty)";
  markList(true);
  byId("view").scrollTo(0, 0);
  showMap();
}

function chooseHypothesis(i) {
  const n = sentence().length;
  state.hypothesis = (i + n) % n;
  showMap();
}

function chooseUnit(byToken) {
  if (state.byToken === byToken) return;
  state.byToken = byToken;
  state.selected = null;
  refresh();
}

function chooseView(kind) {
  if (!map().weights || !isPossible(kind)) return;
  state.view = kind;
  refresh();
  reveal();
}

function chooseKind(kind) {
  if (!hypothesis()[kind] || kind === map().attention) return;
  state.kind = kind;
  state.selected = null;
  byId("view").scrollTo(0, 0);
  refresh();
}

function nextKind(step) {
  const here = kinds.filter((kind) => hypothesis()[kind]);
  chooseKind(here[(here.indexOf(map().attention) + step + here.length) % here.length]);
}

function chooseOrder(order) {
  state.order = order;
  showList();
  markList(true);
}

function chooseHead(step) {
  const m = map(), n = m.layers * m.heads, was = chosen();
  if (!m.weights || n < 2) return;
  const one = was.layer >= 0 || was.head >= 0, between = was.layer >= 0 && was.head < 0 && m.heads > 1; /* a layer's mean comes before its heads */
  let now = between ? was.layer * m.heads + (step < 0) : one ? 1 + Math.max(was.layer, 0) * m.heads + Math.max(was.head, 0) : 0;
  now = (now + step + n + 1) % (n + 1);
  was.layer = now ? Math.floor((now - 1) / m.heads) : -1;
  was.head = now ? (now - 1) % m.heads : -1;
  refresh();
}

function save() {
  if (!map().weights) return;
  const kind = shownView() === "text" ? "links" : shownView(), room = Math.max(roomForPicture(), 480);
  const drawing = kind === "links" ? drawLinks(view, statistics(), paper(), room) : kind === "matrix" ? drawMatrix(view, statistics(), paper(), room) : drawSeveral(kind, room);
  if (state.selected) drawing.highlight(state.selected);
  if (caption()) addCaption(drawing.svg, caption(), paper());
  const url = URL.createObjectURL(new Blob([svgText(drawing.svg)], { type: "image/svg+xml" }));
  const link = create("a", [], { href: url, download: `attention-${state.sentence + 1}-${state.hypothesis + 1}-${map().attention === "cross" ? "" : map().attention + "-"}${kind}.svg` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/* ---- pointing ---- */

function selectionAt(event) {
  const element = event.target.closest("[data-side]");
  if (element) return { side: element.dataset.side, index: Number(element.dataset.index) };
  const shown = [picture, beside].find((p) => p && p.cellAt && p.svg.contains(event.target));
  if (!shown) return null;
  const frame = shown.svg.getBoundingClientRect();
  return shown.cellAt(event.clientX - frame.left, event.clientY - frame.top);
}

function listenToPointer() {
  const box = byId("view");
  box.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") point(selectionAt(event), false); });
  box.addEventListener("pointerleave", () => point(null, false));
  box.addEventListener("click", (event) => {
    const panel = event.target.closest("[data-panel]");
    if (panel) {
      picture.panels[Number(panel.dataset.panel)].choose();
      return;
    }
    const now = selectionAt(event), selected = state.selected;
    const again = now && selected && now.side === selected.side && now.index === selected.index && now.other === selected.other;
    point(again ? null : now, true);
    if (!picture.box) reveal();
  });
  box.addEventListener("scroll", follow);
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
    if (button.dataset.kind) chooseKind(button.dataset.kind);
    else if (button.dataset.view) chooseView(button.dataset.view);
    else if (button.dataset.byToken !== undefined) chooseUnit(Boolean(button.dataset.byToken));
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
  byId("help").scrollTop = 0; /* the focused button is at the end */
}

function nextTheme() {
  const themes = ["auto", "light", "dark"];
  setTheme(themes[(themes.indexOf(state.theme) + 1) % 3]);
}

/* ---- keys ---- */

/* The selection after an arrow key. Arrows follow the picture: in a right-to-left sentence, the left arrow leads to the next word. */
function moved(key) {
  const now = state.selected;
  const last = (side) => view[side].length - 1;
  const clamp = (side, i) => Math.max(0, Math.min(last(side), i));
  if (last("source") < 0 || last("target") < 0 || picture.panels) return null;
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
  let best = 0; /* the unit of the other side with the largest weight */
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
  1: () => chooseView("links"), 2: () => chooseView("matrix"), 3: () => chooseView("text"), 4: () => chooseView("heads"), 5: () => chooseView("models"),
  l: () => nextKind(1), L: () => nextKind(-1), w: () => chooseUnit(!state.byToken), a: () => chooseHead(1), A: () => chooseHead(-1),
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

/* ---- start ---- */

function begin() {
  try { state.theme = { light: "light", dark: "dark" }[localStorage.getItem("attend-theme")] || "auto"; } catch (e) { state.theme = "auto"; }
  showTheme();
  byId("title").textContent = data.title || "Attention maps";
  for (const button of document.querySelectorAll("[data-kind]")) if (!kinds.includes(button.dataset.kind)) button.remove();
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
    if (innerWidth === width) return; /* only the height changed: the bars of a phone's browser */
    width = innerWidth;
    showPicture();
  });
}

begin();
