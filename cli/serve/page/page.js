/* page.js: typing, requests, choices and keys. */

const DELAY_MS = 250, RETRY_MS = 1500, UNSURE = 0.5;
const state = {
  languages: [], settings: {},
  lines: [],        /* {translation, alternatives, attention} of each line of the text */
  forced: new Map(), /* text with which the translation of a line begins, by line */
  line: 0,          /* whose map and beam are shown */
  tree: null, path: [],
  abort: null, timer: 0, choice: -1, choices: [],
};

/* ---- requests ---- */

class Refused extends Error {}

async function post(path, fields, signal) {
  const key = byId("key").value;
  const response = await fetch(path, {
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...fields, source: byId("from").value, target: byId("to").value, ...(key ? { api_key: key } : {}) }),
  });
  if (response.ok) return response;
  let message = `status ${response.status}`;
  try { message = (await response.json()).error || message; } catch { /* not JSON */ }
  throw Object.assign(new Refused(message), { status: response.status });
}

/* Without attention, if the model has none or the texts are too long for it. */
async function translateLines(q, more, signal) {
  try {
    return await (await post("translate", { q, alternatives: 4, attention: true, ...more }, signal)).json();
  } catch (error) {
    if (!(error instanceof Refused) || !/attention/.test(error.message)) throw error;
    return (await post("translate", { q, alternatives: 4, ...more }, signal)).json();
  }
}

/* Calls event(name, data) for each server-sent event. */
async function explore(fields, event, signal) {
  const reader = (await post("explore", fields, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\n");
      event(name.slice("event: ".length), JSON.parse(data.slice("data: ".length)));
    }
  }
}

/* ---- showing ---- */

function say(text, isError) {
  byId("status").textContent = text;
  byId("status").classList.toggle("error", Boolean(isError));
}

function showLine(line, number) {
  const paragraph = make("p", { dir: "auto" });
  const tokens = line.attention ? line.attention.target : [line.translation];
  tokens.forEach((text, i) => {
    const probability = line.attention ? line.attention.probabilities[i] : 1;
    const isSpaced = text.length > 1 && text[0] === " "; /* in a button, the space would begin the next row of a long line */
    const before = isSpaced || (i > 0 && line.isWords) ? " " : "";
    const button = make("button", { type: "button", className: "token" + (probability < UNSURE ? " unsure" : ""), tabIndex: -1, title: line.attention ? percent(probability) : "" }, isSpaced ? text.slice(1) : text);
    button.dataset.line = number;
    button.dataset.index = i;
    paragraph.append(before, button);
  });
  return paragraph;
}

function showTexts() {
  byId("target").replaceChildren(...state.lines.map(showLine));
  byId("target").classList.remove("old");
  const first = byId("target").querySelector(`.token[data-line="${state.line}"]`) || byId("target").querySelector(".token");
  if (first) first.tabIndex = 0;
}

function showLineDetails() {
  const line = state.lines[state.line];
  const forced = state.forced.get(state.line);
  byId("forced").hidden = !forced;
  byId("forced-text").textContent = forced || "";
  const alternatives = [...new Set((line && line.alternatives) || [])].filter((text) => text !== line.translation);
  byId("other").hidden = !alternatives.length;
  byId("alternatives").replaceChildren(...alternatives.map((text) => make("li", {}, make("span", { className: "text", dir: "auto" }, text))));
  const attention = line && line.attention && line.attention.weights.length ? line.attention : null;
  byId("attention").hidden = !attention;
  if (!attention) return;
  byId("confidence").textContent = `confidence ${percent(attention.confidence)}`;
  drawMap(attention, !line.isWords, (row) => point(state.line, row));
}

/* Marks a target token, and what it attends to. */
function point(number, index) {
  if (number !== state.line) return;
  document.querySelectorAll("#target .token").forEach((b) => b.classList.toggle("current", Number(b.dataset.line) === number && Number(b.dataset.index) === index));
  const line = state.lines[number];
  if (line && line.attention && line.attention.weights.length) pointMap(line.attention, index);
}

/* ---- translating ---- */

const sourceLines = () => byId("source").value.split("\n");

async function translateNow() {
  clearTimeout(state.timer);
  if (state.abort) state.abort.abort();
  closeChoices();
  const { signal } = state.abort = new AbortController();
  const lines = sourceLines();
  if (!lines.some((line) => line.trim())) {
    Object.assign(state, { lines: [], path: [], tree: null });
    showTexts();
    showLineDetails();
    byId("search").hidden = true;
    say("");
    return;
  }
  if (!(lines[state.line] || "").trim()) state.line = lines.findIndex((line) => line.trim());
  byId("target").classList.add("old");
  try {
    await Promise.all([translateAll(lines, signal), exploreLine(lines, signal)]);
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Refused) say(error.message, true);
    else await waitForServer(signal);
  }
}

async function translateAll(lines, signal) {
  const plain = await translateLines(lines, {}, signal);
  const result = lines.map((_, i) => ({ translation: plain.translatedText[i], alternatives: plain.alternatives[i], attention: plain.attention && plain.attention[i][0] }));
  for (const [i, prefix] of state.forced) {
    if (i >= lines.length) continue;
    const one = await translateLines(lines[i], { prefix }, signal);
    result[i] = { translation: one.translatedText, alternatives: one.alternatives, attention: one.attention && one.attention[0] };
  }
  for (const line of result) line.isWords = line.attention && line.translation === line.attention.target.join(" "); /* tokens without spaces */
  state.lines = result;
  showTexts();
  showLineDetails();
  say("");
}

async function exploreLine(lines, signal) {
  if (!state.settings.explore) return;
  const prefix = state.forced.get(state.line);
  byId("search").hidden = false;
  byId("search-note").textContent = "";
  state.path = [];
  state.tree = null;
  try {
    await explore({ q: lines[state.line], ...(prefix ? { prefix } : {}) }, (name, data) => {
      if (name === "begin") state.tree = newTree(byId("tree"), data.separator, (tokens) => force(state.line, textOfTokens(tokens, data.separator)));
      if (name === "step") state.tree.add(data);
      if (name === "error") byId("search-note").textContent = data.error;
      if (name !== "end" || !state.tree) return;
      state.path = state.tree.end();
      byId("search-note").textContent = state.path.length ? `${state.path.length} steps` : "";
    }, signal);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    byId("search-note").textContent = error.message; /* the translation may still succeed */
  }
}

/* The connection is lost: tries again until the server answers. */
async function waitForServer(signal) {
  say("The server does not answer. Trying again …", true);
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
    if (signal.aborted) return;
    try {
      if ((await fetch("health", { signal })).ok) break;
    } catch { /* not yet */ }
  }
  if (!signal.aborted) await (state.languages.length ? translateNow() : begin());
}

function typed() {
  state.forced.clear();
  const limit = state.settings.charLimit, length = [...byId("source").value].length;
  byId("count").textContent = limit ? `${length} of ${limit} characters` : `${length} characters`;
  clearTimeout(state.timer);
  state.timer = setTimeout(translateNow, DELAY_MS);
}

function force(line, text) {
  if (text) state.forced.set(line, text); else state.forced.delete(line);
  translateNow();
}

/* ---- alternatives of a token ---- */

function closeChoices() {
  byId("choices").hidden = true;
  state.choice = -1;
}

function selectChoice(index) {
  const items = [...byId("choices").querySelectorAll("[role=option]")];
  if (!items.length) return;
  state.choice = (index + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", String(i === state.choice)));
  items[state.choice].scrollIntoView({ block: "nearest" });
}

function takeChoice() {
  const branch = state.choices[state.choice];
  closeChoices();
  if (branch) force(state.line, textOfTokens(state.tree.tokensOf(branch), state.tree.separator));
}

async function openChoices(button) {
  const number = Number(button.dataset.line), index = Number(button.dataset.index);
  if (number !== state.line) {
    state.line = number;
    showLineDetails();
    await exploreLine(sourceLines(), state.abort.signal).catch(() => {});
  }
  point(number, index);
  state.choices = state.tree && state.path.length > index ? state.tree.alternatives(state.path, index) : [];
  const list = byId("choices");
  list.replaceChildren(...state.choices.map((b) => make("li", { role: "option" }, make("bdi", {}, visible(b.token)), make("span", { className: "note" }, percent(b.probability)))));
  if (!state.choices.length) list.replaceChildren(make("li", { className: "note" }, "no alternatives"));
  [...list.children].forEach((item, i) => item.addEventListener("click", () => { state.choice = i; takeChoice(); }));
  list.hidden = false;
  const box = button.getBoundingClientRect();
  list.style.top = `${box.bottom + scrollY + 4}px`;
  list.style.left = `${Math.max(8, Math.min(box.left + scrollX, scrollX + document.documentElement.clientWidth - list.offsetWidth - 8))}px`;
  const same = state.path[index];
  selectChoice(Math.max(0, state.choices.findIndex((b) => same && b.token === same.token)));
}

/* ---- keys ---- */

function moveToken(from, step) {
  const all = [...byId("target").querySelectorAll(".token")];
  const next = all[all.indexOf(from) + step];
  if (!next) return;
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function keyInTarget(event) {
  const button = event.target.closest(".token");
  if (!button) return;
  const isOpen = !byId("choices").hidden;
  const sideways = getComputedStyle(button.parentElement).direction === "rtl" ? -1 : 1;
  const actions = {
    ArrowRight: () => { closeChoices(); moveToken(button, sideways); }, ArrowLeft: () => { closeChoices(); moveToken(button, -sideways); },
    ArrowDown: () => (isOpen ? selectChoice(state.choice + 1) : openChoices(button)), ArrowUp: () => isOpen && selectChoice(state.choice - 1),
    Enter: () => (isOpen ? takeChoice() : openChoices(button)), Escape: closeChoices,
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function nextTheme() {
  const root = document.documentElement;
  const next = { undefined: "light", light: "dark", dark: undefined }[root.dataset.theme];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
}

function showPruned(shown) {
  byId("pruned").checked = shown;
  byId("tree").classList.toggle("only-kept", !shown);
}

function keyAnywhere(event) {
  if (event.key === "Escape") closeChoices();
  if (/^(TEXTAREA|INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const actions = { "/": () => byId("source").focus(), u: () => force(state.line, ""), d: nextTheme, p: () => showPruned(!byId("pruned").checked), "?": () => byId("help").showModal() };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

/* ---- beginning ---- */

function showTargets() {
  const language = state.languages.find((l) => l.code === byId("from").value);
  const names = new Map(state.languages.map((l) => [l.code, l.name]));
  const show = (code) => { try { return names.get(code) || new Intl.DisplayNames(["en"], { type: "language" }).of(code) || code; } catch { return code; } };
  byId("to").replaceChildren(...language.targets.map((code) => make("option", { value: code }, show(code))));
}

async function begin() {
  const signal = (state.abort = new AbortController()).signal;
  try {
    [state.languages, state.settings] = await Promise.all(["languages", "frontend/settings"].map(async (path) => (await fetch(path)).json()));
  } catch {
    await waitForServer(signal);
    return;
  }
  byId("key-field").hidden = !state.settings.keyRequired;
  byId("from").replaceChildren(...state.languages.map((l) => make("option", { value: l.code }, l.name)));
  showTargets();
  typed();
}

byId("source").addEventListener("input", typed);
byId("source").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  translateNow();
});
byId("from").addEventListener("change", () => { showTargets(); typed(); });
byId("to").addEventListener("change", typed);
byId("key").addEventListener("change", translateNow);
byId("key-field").addEventListener("submit", (event) => event.preventDefault());
byId("target").addEventListener("click", (event) => { const b = event.target.closest(".token"); if (b) openChoices(b); });
byId("target").addEventListener("keydown", keyInTarget);
for (const name of ["pointerover", "focusin"])
  byId("target").addEventListener(name, (event) => { const b = event.target.closest(".token"); if (b) point(Number(b.dataset.line), Number(b.dataset.index)); });
byId("free").addEventListener("click", () => force(state.line, ""));
byId("pruned").addEventListener("change", (event) => showPruned(event.target.checked));
byId("theme").addEventListener("click", nextTheme);
byId("help-open").addEventListener("click", () => byId("help").showModal());
document.addEventListener("keydown", keyAnywhere);
document.addEventListener("pointerdown", (event) => { if (!event.target.closest("#choices, .token")) closeChoices(); });
begin();
