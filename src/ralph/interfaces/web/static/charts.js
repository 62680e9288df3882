// Charts as SVG; each bar has its figure as a title.

import { h } from "./dom.js";

const WIDTH = 460;
const HEIGHT = 110;
const LEFT = 48;
const MOST = 120;

export function bars(title, values, show) {
  const shown = values.slice(-MOST);
  const top = Math.max(0, ...shown.map((bar) => bar.value ?? 0));
  if (shown.length < 2 || top <= 0) return null; // a single bar compares nothing
  const step = Math.min(30, (WIDTH - LEFT) / shown.length);
  const drawn = shown.map((bar, index) => {
    const height = Math.max(1, ((HEIGHT - 10) * (bar.value ?? 0)) / top);
    return h("rect", { class: `bar ${bar.kind ?? ""}`, x: LEFT + index * step + step / 10, y: HEIGHT - height, width: step * 0.8, height, rx: Math.min(2, step / 6) },
      h("title", {}, `${bar.label}: ${bar.value === null || bar.value === undefined ? "unknown" : show(bar.value)}`),
    );
  });
  const summary = `${title}: ${shown.length} bars, at most ${show(top)}, the last ${show(shown.at(-1).value ?? 0)}`;
  return h("figure", { class: "chart" },
    h("figcaption", {}, title),
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 18}`, role: "img", "aria-label": summary },
      h("line", { class: "axis", x1: LEFT, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
      h("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: 10, y2: 10 }),
      h("text", { x: LEFT - 6, y: 14, "text-anchor": "end" }, show(top)),
      h("text", { x: LEFT - 6, y: HEIGHT, "text-anchor": "end" }, show(0)),
      h("text", { x: LEFT, y: HEIGHT + 14 }, shown[0].label),
      shown.length > 3 && h("text", { x: LEFT + step * shown.length, y: HEIGHT + 14, "text-anchor": "end" }, shown.at(-1).label),
      drawn,
    ),
  );
}

/** How often each check passed. */
export const rates = (title, items) =>
  meters(title, items.map((item) => ({ name: item.name, value: item.passed, most: item.ran, figure: `${item.passed} of ${item.ran}` })));

/** A few named counts. */
export function counts(title, items) {
  const most = Math.max(0, ...items.map((item) => item.value));
  return most > 0 ? meters(title, items.map((item) => ({ ...item, most, figure: String(item.value), plain: true }))) : null;
}

function meters(title, items) {
  if (!items.length) return null;
  return h("figure", { class: "chart" },
    h("figcaption", {}, title),
    h("div", { class: "rates" },
      items.map((item) => [
        h("span", { class: "rate-name", title: item.name }, item.name),
        item.plain
          ? h("progress", { max: item.most, value: item.value, "aria-label": item.name })
          : h("meter", { min: 0, max: Math.max(1, item.most), value: item.value, low: item.most * 0.5, high: item.most * 0.99, optimum: Math.max(1, item.most), "aria-label": item.name }),
        h("span", { class: "rate-count" }, item.figure),
      ]),
    ),
  );
}
