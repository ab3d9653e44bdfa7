"use strict";
/* page_map.js: what is computed from a map. Numbers come as whole multiples of 1/10000.
   A unit is what a view shows: a word or a piece. "target" is who looks and "source" what is looked at, also where a side looks at itself. */

const SCALE = 10000;
const UNSEEN = 0.2;     /* coverage below which a source word was never looked at */
const LOOP_WORDS = 3;   /* as many words or more, twice in a row: a loop */

const number = (x) => (x === null ? NaN : x / SCALE);

/* The maps of a sentence by hypothesis and look. Every map of the first one's look begins a hypothesis; an encoder's map is that of all. */
function hypothesesOf(maps) {
  const list = [];
  for (const map of maps) {
    if (map.look === maps[0].look) list.push({ first: map });
    list[list.length - 1][map.look] = map;
  }
  for (const hypothesis of list) hypothesis.encoder = hypothesis.encoder || list[0].encoder;
  return list;
}

/* (target pieces, source pieces) of one layer and head; -1: the mean over all. */
function pieceWeights(map, layer, head) {
  const size = map.targetPieces.length * map.sourcePieces.length;
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

/* What cannot be seen, or cannot stand in XML, by its picture. */
const visible = (text) => (text === "" ? "␣" : text
  .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
  .replace(/\x7f/g, "\u2421").replace(/[\x80-\x9f\ufffe\uffff]/g, "\ufffd"));

/* The units of one side, each with the pieces it is made of. */
function unitsOf(pieces, wordOf, words, asPieces) {
  if (asPieces)
    return pieces.map((text, i) => ({
      text: visible(text), pieces: [i], word: wordOf[i],
      joined: i > 0 && wordOf[i] >= 0 && wordOf[i] === wordOf[i - 1],
      end: wordOf[i] < 0,
    }));
  const units = words.map((text, i) => ({ text: visible(text), pieces: [], word: i, joined: false, end: false }));
  wordOf.forEach((word, i) => { if (units[word]) units[word].pieces.push(i); });
  return units;
}

const mean = (list) => (list.length ? list.reduce((a, b) => a + b, 0) / list.length : 0);

/* Everything a view draws. Between words: weights on the pieces of a word added, rows of the pieces of a word averaged. */
function viewOf(map, asPieces, layer, head) {
  const source = unitsOf(map.sourcePieces, map.sourceWord, map.sourceWords, asPieces);
  const target = unitsOf(map.targetPieces, map.targetWord, map.targetWords, asPieces);
  const S = source.length, T = target.length, columns = map.sourcePieces.length;
  const weights = new Float64Array(T * S);
  for (const unit of source) unit.coverage = 0;
  if (map.weights) {
    const pieces = pieceWeights(map, layer, head);
    for (const unit of source)
      for (const q of unit.pieces)
        for (let p = 0; p < map.targetPieces.length; p++) unit.coverage += pieces[p * columns + q];
    const bits = rowEntropies(pieces, map.targetPieces.length, columns);
    target.forEach((unit, t) => {
      unit.entropy = mean(unit.pieces.map((p) => bits[p]));
      source.forEach((from, s) => {
        let sum = 0;
        for (const p of unit.pieces) for (const q of from.pieces) sum += pieces[p * columns + q];
        weights[t * S + s] = unit.pieces.length ? sum / unit.pieces.length : 0;
      });
    });
  }
  for (const unit of target) /* an encoder says nothing, and the beginning is not said */
    unit.probability = map.probability ? unit.pieces.reduce((p, i) => p * number(map.probability[i]), 1) : NaN;
  return { map, source, target, weights, causal: isCausal(map, weights, T, S), at: (t, s) => weights[t * S + s] };
}

/* A side that looks at itself, and nowhere ahead. */
function isCausal(map, weights, rows, columns) {
  if (map.look === "source" || !map.weights) return false;
  for (let t = 0; t < rows; t++)
    for (let s = t + 1; s < columns; s++) if (weights[t * columns + s] !== 0) return false;
  return true;
}

/* [first, behind the last] of the words of a loop and what it repeats, or null. */
function loopOf(words) {
  for (let at = 0; at + 2 * LOOP_WORDS <= words.length; at++)
    for (let n = LOOP_WORDS; at + 2 * n <= words.length; n++) {
      let end = at + n;
      while (end < words.length && words[end] === words[end - n]) end++;
      if (end >= at + 2 * n) return { begin: at, end, said: words.slice(at, at + n).join(" ") };
    }
  return null;
}

/* What is remarkable about a map, by one layer and head or by their mean (-1). Words that nobody looks at are remarkable in a source alone: of what
   looks at itself, the last word is seen by itself at most. */
function remarksOf(map, layer, head) {
  const key = `${layer} ${head}`;
  map.remarks = map.remarks || {};
  if (map.remarks[key]) return map.remarks[key];
  const rows = map.targetPieces.length, columns = map.sourcePieces.length;
  const remarks = {
    confidence: Math.exp(number(map.logProbability) / Math.max(rows, 1)),
    entropy: NaN, unseen: [], loop: map.look === "encoder" ? null : loopOf(map.targetWords),
    broken: map.weights !== null && map.weights.includes(null),
  };
  if (map.weights) {
    const pieces = pieceWeights(map, layer, head);
    remarks.entropy = mean(Array.from(rowEntropies(pieces, rows, columns)));
    const got = map.sourceWords.map(() => 0);
    for (let t = 0; t < rows; t++)
      for (let s = 0; s < columns; s++)
        if (map.sourceWord[s] >= 0) got[map.sourceWord[s]] += pieces[t * columns + s];
    if (map.look === "source") got.forEach((sum, word) => { if (sum < UNSEEN) remarks.unseen.push(word); });
  }
  map.remarks[key] = remarks;
  return remarks;
}

/* By the first letter that has a direction, as dir="auto" does. */
function isRightToLeft(text) {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(letter[0]);
}
