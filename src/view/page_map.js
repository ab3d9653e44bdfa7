"use strict";
/* page_map.js: what is computed from a map. Numbers are stored as integers, in units of 1/10000.
   A unit is what a view shows: a word or a token. Rows ("target") attend to columns ("source"), with self-attention too. */

const data = JSON.parse(document.getElementById("data").textContent);
const SCALE = 10000;
const MIN_COVERAGE = 0.2; /* a source word below it is not covered */
const LOOP_WORDS = 3;     /* minimum length of a repetition */
const MIN_REST = 0.005;   /* below it in every row, there is no column for the rest */

const number = (x) => (x === null ? NaN : x / SCALE);

const modelOf = (map) => map.model || 0;

/* The maps of a sentence by hypothesis and attention kind. Each map of the first map's kind starts a hypothesis; those of one model share the encoder's map. */
function hypothesesOf(maps) {
  const list = [];
  for (const map of maps) {
    if (map.attention === maps[0].attention) list.push({ first: map });
    list[list.length - 1][map.attention] = map;
  }
  for (const hypothesis of list) {
    const best = list.find((other) => modelOf(other.first) === modelOf(hypothesis.first));
    hypothesis.encoder = hypothesis.encoder || best.encoder;
  }
  return list;
}

/* (target tokens, source tokens) of one layer and head; -1: the mean over all. */
function tokenWeights(map, layer, head) {
  const size = map.targetTokens.length * map.sourceTokens.length;
  const sum = new Float64Array(size);
  let maps = 0;
  for (let l = 0; l < map.layers; l++)
    for (let h = 0; h < map.heads; h++) {
      if ((layer >= 0 && l !== layer) || (head >= 0 && h !== head)) continue;
      const from = (l * map.heads + h) * size;
      for (let i = 0; i < size; i++) sum[i] += (map.weights[from + i] || 0) / SCALE;
      maps++;
    }
  if (maps > 1) for (let i = 0; i < size; i++) sum[i] /= maps;
  return sum;
}

/* Of each row, in bits. */
function rowEntropies(weights, rows, columns) {
  const bits = new Float64Array(rows);
  for (let t = 0; t < rows; t++)
    for (let s = 0; s < columns; s++) {
      const w = weights[t * columns + s];
      if (w > 0) bits[t] -= w * Math.log2(w);
    }
  return bits;
}

/* Replaces what is invisible, or not allowed in XML, by a visible symbol. */
const visible = (text) => (text === "" ? "␣" : text
  .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
  .replace(/\x7f/g, "\u2421").replace(/[\x80-\x9f\ufffe\uffff]/g, "\ufffd"));

const UNKNOWN = "\u2047"; /* after what the training data did not have (attend/grid.h) */

/* The words of one side that the training data did not have. */
function unknownWords(unknown, wordOf, words) {
  const all = new Set(unknown.map((i) => wordOf[i]));
  return words.filter((_, word) => all.has(word));
}

/* The units of one side, each with its tokens. */
function unitsOf(tokens, wordOf, words, unknown, byToken) {
  const units = byToken
    ? tokens.map((text, i) => ({
      text: visible(text), tokens: [i], word: wordOf[i],
      joined: i > 0 && wordOf[i] >= 0 && wordOf[i] === wordOf[i - 1],
      end: wordOf[i] < 0,
    }))
    : words.map((text, i) => ({ text: visible(text), tokens: [], word: i, joined: false, end: false }));
  if (!byToken) wordOf.forEach((word, i) => { if (units[word]) units[word].tokens.push(i); });
  for (const unit of units) {
    unit.unknown = unit.tokens.some((i) => unknown.includes(i));
    if (unit.unknown) unit.text += UNKNOWN;
  }
  return units;
}

/* What the row of a token lacks to a sum of 1: weight on ends and spaces, which are no units, or outside a window. A row without any weight lacks nothing. */
function restOf(weights, row, columns, source) {
  let all = 0, shown = 0;
  for (let s = 0; s < columns; s++) all += weights[row * columns + s];
  for (const unit of source) for (const q of unit.tokens) shown += weights[row * columns + q];
  return all > 0 && shown < 1 ? 1 - shown : 0;
}

const mean = (list) => (list.length ? list.reduce((a, b) => a + b, 0) / list.length : 0);

/* Everything a view draws. Between words, weights are summed over the tokens of a source word and averaged over those of a target word. */
function viewOf(map, byToken, layer, head) {
  const source = unitsOf(map.sourceTokens, map.sourceWord, map.sourceWords, map.sourceUnknown, byToken);
  const target = unitsOf(map.targetTokens, map.targetWord, map.targetWords, map.targetUnknown, byToken);
  const S = source.length, T = target.length, columns = map.sourceTokens.length;
  const weights = new Float64Array(T * S);
  for (const unit of source) unit.coverage = 0;
  if (map.weights) {
    const byTokens = tokenWeights(map, layer, head);
    for (const unit of source)
      for (const q of unit.tokens)
        for (let p = 0; p < map.targetTokens.length; p++) unit.coverage += byTokens[p * columns + q];
    const bits = rowEntropies(byTokens, map.targetTokens.length, columns);
    target.forEach((unit, t) => {
      unit.entropy = mean(unit.tokens.map((p) => bits[p]));
      unit.rest = mean(unit.tokens.map((p) => restOf(byTokens, p, columns, source)));
      source.forEach((from, s) => {
        let sum = 0;
        for (const p of unit.tokens) for (const q of from.tokens) sum += byTokens[p * columns + q];
        weights[t * S + s] = unit.tokens.length ? sum / unit.tokens.length : 0;
      });
    });
  }
  for (const unit of target) /* an encoder's map has no probabilities, and "<s>" has none */
    unit.probability = map.probability ? unit.tokens.reduce((p, i) => p * number(map.probability[i]), 1) : NaN;
  const rest = target.some((unit) => unit.rest >= MIN_REST);
  return { map, source, target, weights, rest, causal: isCausal(map, weights, T, S), at: (t, s) => weights[t * S + s] };
}

/* Self-attention in which no row attends to a later column. */
function isCausal(map, weights, rows, columns) {
  if (map.attention === "cross" || !map.weights) return false;
  for (let t = 0; t < rows; t++)
    for (let s = t + 1; s < columns; s++) if (weights[t * columns + s] !== 0) return false;
  return true;
}

/* The first repetition: its words [begin, end) and the text that is repeated; or null. */
function loopOf(words) {
  for (let at = 0; at + 2 * LOOP_WORDS <= words.length; at++)
    for (let n = LOOP_WORDS; at + 2 * n <= words.length; n++) {
      let end = at + n;
      while (end < words.length && words[end] === words[end - n]) end++;
      if (end >= at + 2 * n) return { begin: at, end, text: words.slice(at, at + n).join(" ") };
    }
  return null;
}

/* Statistics of a map for one layer and head or the mean (-1). Coverage is reported for cross-attention only: with causal self-attention, the last words
   receive little by construction. */
function statisticsOf(map, layer, head) {
  const key = `${layer} ${head}`;
  map.statistics = map.statistics || {};
  if (map.statistics[key]) return map.statistics[key];
  const rows = map.targetTokens.length, columns = map.sourceTokens.length;
  const statistics = {
    confidence: Math.exp(number(map.logProbability) / Math.max(rows, 1)),
    entropy: NaN, uncovered: [], loop: map.attention === "encoder" ? null : loopOf(map.targetWords),
    broken: map.weights !== null && map.weights.includes(null),
  };
  if (map.weights) {
    const byTokens = tokenWeights(map, layer, head);
    statistics.entropy = mean(Array.from(rowEntropies(byTokens, rows, columns)));
    const coverage = map.sourceWords.map(() => 0);
    for (let t = 0; t < rows; t++)
      for (let s = 0; s < columns; s++)
        if (map.sourceWord[s] >= 0) coverage[map.sourceWord[s]] += byTokens[t * columns + s];
    if (map.attention === "cross") coverage.forEach((sum, word) => { if (sum < MIN_COVERAGE) statistics.uncovered.push(word); });
  }
  map.statistics[key] = statistics;
  return statistics;
}

/* By the first letter that has a direction, as dir="auto" does. */
function isRightToLeft(text) {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(letter[0]);
}
