// Building elements. Foreign text is only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "rect", "line", "text", "title", "path", "g"]);

/** Children may be nested lists; what is absent is left out. */
const flatten = (children) => children.flat(3).filter((child) => ![null, undefined, false, ""].includes(child));

export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...flatten(children));
  return element;
}

/** Replaces the children. */
export function fill(parent, ...children) {
  parent.replaceChildren(...flatten(children));
}

/** Redraws only if something changed: nobody can click or hear a page that redraws all the time. */
export function redraw(parent, key, draw) {
  if (parent.drawnFor === key) return false;
  parent.drawnFor = key;
  const reachable = () => [...parent.querySelectorAll("a, button, summary")];
  const focused = reachable().indexOf(document.activeElement);
  const scrolled = [...parent.querySelectorAll(".lanes")].map((each) => each.scrollLeft);
  fill(parent, draw());
  parent.querySelectorAll(".lanes").forEach((each, index) => (each.scrollLeft = scrolled[index] ?? 0));
  if (focused >= 0) reachable()[focused]?.focus({ preventScroll: true });
  return true;
}

/** What to compare of an answer; when a run was last active is updated separately. */
export const keyOf = (...values) => JSON.stringify(values, (name, value) => (name === "activeAt" ? undefined : value));

export const money = (usd) => (usd === null || usd === undefined ? "" : usd > 0 && usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`);

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "?";
  seconds = Math.max(0, seconds);
  if (seconds < 59.95) return `${seconds.toFixed(seconds < 10 ? 1 : 0)}s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}h${minutes}m` : `${minutes}m${rest}s`;
}

export function compact(number) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["K", 1e3]]) {
    if (number >= size) return `${(number / size).toFixed(number < size * 100 ? 1 : 0).replace(/\.0$/, "")}${unit}`;
  }
  return String(number);
}

export function ago(at, now = Date.now() / 1000) {
  const seconds = Math.max(0, now - at);
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`;
  }
  return `${Math.floor(seconds)}s ago`;
}

export const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
/** The time; the day too unless it is today. */
export function moment(at) {
  if (!at) return "";
  const date = new Date(at * 1000);
  const day = date.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric", ...(date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }) };
  return date.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit", hour12: false });
}
export const dim = (...children) => h("span", { class: "dim" }, children);
export const button = (label, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, label);
export const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
