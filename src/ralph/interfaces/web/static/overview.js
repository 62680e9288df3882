// The first page of several projects: what waits for a person, what it all costs, what runs, and one board.

import { projectLink, runLink } from "./api.js";
import { ago, compact, dim, h, plural } from "./dom.js";
import { TONES } from "./events.js";
import { board, runRow, spent, startButtons } from "./home.js";

const SIGNS = { bad: "✗", warning: "!", open: "◔" };

const figures = (totals) => [plural(totals.runs, "run"), totals.live ? `${totals.live} under way` : "", spent(totals), totals.tokens ? `${compact(totals.tokens)} tokens` : ""].filter(Boolean);

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

/** One thing that waits; it leads to its run, its card or its project. */
function wait(each, name, onOpen) {
  const look = `wait ${TONES[each.tone]}-wait`;
  const inside = [
    h("span", { class: "wait-head" }, h("span", { class: `sign ${TONES[each.tone]}`, "aria-hidden": "true" }, SIGNS[each.tone] ?? "·"), name && h("span", { class: "whose" }, name), h("strong", {}, each.title), h("span", { class: `chip ${TONES[each.tone]}` }, each.words), each.activeAt > 0 && h("span", { class: "dim ago", "data-at": each.activeAt }, ago(each.activeAt))),
    each.reason && h("span", { class: "wait-why" }, each.reason),
  ];
  if (each.kind === "project") return h("div", { class: look }, inside);
  if (each.kind === "task") return h("button", { type: "button", class: look, onclick: () => onOpen({ kind: "task", id: each.task, project: each.project }) }, inside);
  return h("a", { class: look, href: runLink(each.run, each.project) }, inside);
}

function project(each, starts) {
  return h("section", { class: "project panel", "aria-label": each.name, "data-project": each.key },
    h("h3", {}, each.problem ? each.name : h("a", { href: projectLink(each.key) }, each.name)),
    h("p", { class: "dim place" }, each.place),
    each.problem ? [h("p", { class: "bad" }, each.problem), each.hint && h("p", { class: "dim" }, each.hint)] : h("p", { class: "dim" }, figures(each.totals).join(" · ")),
    each.waiting > 0 && !each.problem && h("p", { class: "odd" }, `${plural(each.waiting, "thing")} waiting for you`),
    starts && !each.problem && startButtons(each, { work: () => starts.work(each), run: () => starts.run(each) }),
  );
}

/** ``starts``: what may be started; null on a read-only page. */
export function overview(state, onOpen, starts) {
  const names = new Map(state.projects.map((each) => [each.key, each.name]));
  const nameOf = (key) => names.get(key) ?? "";
  return [
    h("h1", { class: "sr" }, "All projects"),
    h("section", { class: "waits", "aria-label": "Waiting for you" },
      h("h2", {}, "Waiting for you ", dim(String(state.waiting.length + state.more))),
      state.waiting.length ? h("div", { class: "wait-list" }, state.waiting.map((each) => wait(each, each.kind === "project" ? "" : nameOf(each.project), onOpen))) : h("p", { class: "empty" }, "Nothing waits for a person."),
      state.more > 0 && h("p", { class: "dim" }, `and ${state.more} more`),
    ),
    h("dl", { class: "facts totals", "aria-label": "Totals" },
      fact("Cost of all projects", spent(state.totals) || "unknown"),
      fact("Tokens", compact(state.totals.tokens)),
      fact("Runs", String(state.totals.runs)),
      fact("Under way", String(state.totals.live)),
    ),
    h("section", { "aria-label": "Under way" },
      h("h2", {}, "Under way"),
      state.runs.length ? h("div", { class: "runs" }, state.runs.map((run) => runRow(run, 0, nameOf(run.project)))) : h("p", { class: "empty" }, "Nothing is running."),
    ),
    h("section", { "aria-label": "Projects" }, h("h2", {}, "Projects ", dim(String(state.projects.length))), h("div", { class: "projects" }, state.projects.map((each) => project(each, starts)))),
    state.boards.map((data) => board(data, onOpen, nameOf)),
  ];
}
