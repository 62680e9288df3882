// Markdown as elements. Agents and tasks write it, so it is foreign: every piece of it is set as text, HTML in it stays
// visible as it was written, and only addresses of http and https become links. No pattern is searched for more than
// once per place, so that no text takes long.

import { h } from "./dom.js";

const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:(?:- ?){3,}|(?:\* ?){3,}|(?:_ ?){3,})$/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const DELIMITERS = /^ {0,3}\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$/;
const BOX = { "[ ]": "☐", "[x]": "☑", "[X]": "☑" };
const TAGS = { "**": "strong", __: "strong", "~~": "del", "*": "em", _: "em" };

/** A block of Markdown, as one element. */
export const markdown = (text, kind = "") => h("div", { class: `md ${kind}` }, blocks(text.replaceAll("\r\n", "\n").split("\n"), 0));

// --- blocks ---

function blocks(lines, depth) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const begin = at;
    const block = lines[at].trim() ? take() : void (at += 1);
    if (block) found.push(block);
    if (at === begin) at += 1;
  }
  return found;

  function take() {
    const line = lines[at];
    let match;
    if ((match = FENCE.exec(line))) return fenced(match[1]);
    if ((match = HEADING.exec(line))) {
      at += 1;
      return h(`h${Math.min(6, match[1].length + 3)}`, {}, inline(withoutClosing(match[2])));
    }
    if (RULE.test(line)) {
      at += 1;
      return h("hr");
    }
    if (QUOTE.test(line) && depth < DEEPEST) return quoted();
    if (ITEM.test(line) && depth < DEEPEST) return list();
    if (line.includes("|") && DELIMITERS.test(lines[at + 1] ?? "")) return table();
    return paragraph();
  }

  function fenced(fence) {
    const begin = at + 1;
    at = begin;
    while (at < lines.length && !lines[at].trim().startsWith(fence)) at += 1;
    const code = lines.slice(begin, at).join("\n");
    at += 1;
    return h("pre", { tabindex: "0" }, h("code", {}, code));
  }

  function quoted() {
    const inner = [];
    for (let match; at < lines.length && (match = QUOTE.exec(lines[at])); at += 1) inner.push(match[1]);
    return h("blockquote", {}, blocks(inner, depth + 1));
  }

  /** Items of one indent; whatever is indented further belongs to the item before it. */
  function list() {
    const first = ITEM.exec(lines[at]);
    const indent = first[1].length;
    const isOrdered = first[2].length > 1;
    const items = [];
    while (at < lines.length) {
      const match = ITEM.exec(lines[at]);
      if (!match || match[1].length < indent || match[1].length > indent + 1 || match[2].length > 1 !== isOrdered) break;
      const inner = [match[3]];
      for (at += 1; at < lines.length && belongs(lines, at, indent); at += 1) inner.push(lines[at].slice(Math.min(indentOf(lines[at]), indent + match[2].length + 1)));
      items.push(item(inner));
    }
    return h(isOrdered ? "ol" : "ul", isOrdered ? { start: Number.parseInt(first[2], 10) } : {}, items);
  }

  function item(inner) {
    const box = BOX[inner[0].slice(0, 3)];
    const first = box ? `${box}${inner[0].slice(3)}` : inner[0];
    return h("li", { class: box && "box" }, inline(first), blocks(inner.slice(1), depth + 1));
  }

  function table() {
    const rows = [];
    for (; at < lines.length && lines[at].includes("|"); at += 1) rows.push(cells(lines[at]));
    const [head, , ...body] = rows;
    return h("table", {}, h("thead", {}, h("tr", {}, head.map((cell) => h("th", {}, inline(cell))))), h("tbody", {}, body.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell)))))));
  }

  /** Line breaks stay: agents mean them. */
  function paragraph() {
    const begin = at;
    at += 1;
    while (at < lines.length && lines[at].trim() && ![FENCE, HEADING, QUOTE, ITEM].some((other) => other.test(lines[at]))) at += 1;
    return h("p", {}, inline(lines.slice(begin, at).join("\n")));
  }
}

/** A heading may end with signs as it begins. */
function withoutClosing(words) {
  const trimmed = words.trimEnd();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end -= 1;
  return end < trimmed.length && /^\s?$/.test(trimmed[end - 1] ?? "") ? trimmed.slice(0, end).trimEnd() : trimmed;
}

const indentOf = (line) => line.length - line.trimStart().length;
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function belongs(lines, at, indent) {
  if (lines[at].trim()) return indentOf(lines[at]) > indent + 1;
  const next = lines[at + 1] ?? "";
  return Boolean(next.trim()) && indentOf(next) > indent + 1;
}

// --- within a line ---

/** A line of Markdown, as elements and texts. */
export function inline(text, depth = 0) {
  const found = [];
  const open = new Set(); // marks that nothing closes from here on
  let plain = "";
  let at = 0;
  const add = (element, end) => {
    if (plain) found.push(plain);
    found.push(element);
    plain = "";
    at = end;
  };
  while (at < text.length) {
    const special = depth < DEEPEST && spanAt(text, at, depth, open);
    if (special) {
      add(...special);
    } else {
      const length = text[at] === "`" ? runOf(text, at) : text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "") ? 2 : 1;
      plain += length === 2 && text[at] === "\\" ? text[at + 1] : text.slice(at, at + length);
      at += length;
    }
  }
  return plain ? [...found, plain] : found;
}

/** The element that begins here, and where it ends; null if none does. */
function spanAt(text, at, depth, open) {
  const sign = text[at];
  if (sign === "`") return codeAt(text, at);
  if (sign === "[" || (sign === "!" && text[at + 1] === "[")) return linkAt(text, sign === "!" ? at + 1 : at, depth);
  if (sign === "h" && !isWord(text[at - 1])) return addressAt(text, at);
  if ("*_~".includes(sign)) return emphasisAt(text, at, depth, open);
  return null;
}

const isWord = (sign) => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);

function runOf(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

function codeAt(text, at) {
  const length = runOf(text, at);
  const fence = text.slice(at, at + length);
  let end = text.indexOf(fence, at + length);
  while (end >= 0 && runOf(text, end) !== length) end = text.indexOf(fence, end + runOf(text, end));
  return end < 0 ? null : [h("code", {}, text.slice(at + length, end).trim() || " "), end + length];
}

function emphasisAt(text, at, depth, open) {
  const mark = TAGS[text.slice(at, at + 2)] ? text.slice(at, at + 2) : text[at];
  const begin = at + mark.length;
  if (!TAGS[mark] || open.has(mark) || !/\S/.test(text[begin] ?? "") || ((text[at] === "_" || mark === "*") && isWord(text[at - 1]))) return null;
  for (let end = text.indexOf(mark, begin + 1); end > 0; end = text.indexOf(mark, end + 1)) {
    const closes = /\S/.test(text[end - 1]) && !(text[at] === "_" && isWord(text[end + mark.length])) && !(mark.length === 1 && text[end + 1] === mark);
    if (closes) return [h(TAGS[mark], {}, inline(text.slice(begin, end), depth + 1)), end + mark.length];
  }
  open.add(mark);
  return null;
}

function linkAt(text, at, depth) {
  const middle = text.indexOf("](", at);
  const end = middle < 0 ? -1 : text.indexOf(")", middle);
  if (end < 0) return null;
  const element = link(text.slice(middle + 2, end).trim().split(/\s/, 1)[0], () => inline(text.slice(at + 1, middle), depth + 1));
  return element && [element, end + 1];
}

function addressAt(text, at) {
  const found = /^https?:\/\/[^\s<>"'`)\]]+/.exec(text.slice(at, at + 2000));
  const address = found && found[0].replace(/[.,;:!?*_]+$/, "");
  const element = address && link(address, () => address);
  return element && [element, at + address.length];
}

function link(address, words) {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return null;
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address }, words());
}
