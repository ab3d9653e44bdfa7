"use strict";
/* page_text.js: elements, and tokens as text. Texts of users only ever become text nodes. */

const byId = (id) => document.getElementById(id);

/* An element with properties and children; strings become text. */
function make(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {}))
    if (key in element) element[key] = value; else element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const percent = (x) => (x >= 0.9995 ? "100" : x < 0.001 ? "<0.1" : (100 * x).toFixed(x < 0.1 ? 1 : 0)) + " %";

/* What is invisible, as a symbol. */
const visible = (text) => (text === "" ? "∎" : text.replace(/^[\u2581 ]+$/, "␣").replace(/\u2581/g, " ").replace(/[\0-\x1f\x7f]/g, "␀"));

/* The text of vocabulary tokens: "▁" is a space, "<0x41>" a byte; tokens that are words are joined by spaces. */
function textOfTokens(tokens, separator) {
  const bytes = [];
  const encoder = new TextEncoder();
  tokens.forEach((token, i) => {
    const byte = /^<0x([0-9A-F]{2})>$/.exec(token);
    if (i > 0 && separator) bytes.push(...encoder.encode(separator));
    if (byte) bytes.push(parseInt(byte[1], 16));
    else bytes.push(...encoder.encode(separator ? token : token.replace(/\u2581/g, " ")));
  });
  return new TextDecoder().decode(new Uint8Array(bytes)).normalize("NFC").replace(/^ /, "");
}
