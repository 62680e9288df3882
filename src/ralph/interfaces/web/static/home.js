// The first page: runs, and the boards of tasks and stories.

import { counts } from "./charts.js";
import { ago, button, compact, dim, h, money, moment, plural } from "./dom.js";

export const stateChip = (run) => h("span", { class: `chip state ${run.state}` }, run.state);

export const runLink = (id) => `#/run/${encodeURIComponent(id)}`;

/** Part of the usage may have no known price. */
export const spent = (run) => (run.costIsPartial && run.cost !== null ? `at least ${money(run.cost)}` : money(run.cost));

export function countOf(run) {
  return run.maximum ? `${run.iteration}/${run.maximum}` : String(run.iteration);
}

/** ``parts``: how many runs belong to it. */
export function runRow(run, parts = 0) {
  return h("a", { class: `run ${run.live ? "is-live" : ""}`, href: runLink(run.id), "data-run": run.id },
    h("span", { class: "run-head" }, h("strong", { class: "run-name" }, run.title || run.id), stateChip(run)),
    run.title && h("span", { class: "run-id" }, run.id),
    h("span", { class: "run-facts" },
      parts > 0 ? h("span", {}, plural(parts, "part")) : (run.iteration > 0 || run.maximum) && h("span", {}, `iteration ${countOf(run)}`),
      run.cost !== null && h("span", {}, spent(run)),
      run.tokens > 0 && h("span", {}, `${compact(run.tokens)} tokens`),
      h("span", {}, `${run.profile} · ${run.agent}`),
      h("span", { class: "ago", "data-at": run.activeAt }, ago(run.activeAt)),
    ),
    run.check && h("span", { class: "run-check" }, h("span", { class: `verdict ${run.check.verdict}` }, run.check.verdict), ` ${run.check.name}`),
    run.reason && h("span", { class: "run-why" }, run.reason, run.waitsUntil && h("span", { class: "until", "data-until": run.waitsUntil })),
    run.maximum && run.live && h("progress", { max: run.maximum, value: Math.min(run.iteration, run.maximum), "aria-label": "iterations used" }),
  );
}

function card(item, onOpen) {
  const facts = [];
  if (["working", "blocked", "waiting"].includes(item.status)) facts.push(item.status);
  if (item.iteration) facts.push(item.maximum ? `iteration ${item.iteration}/${item.maximum}` : plural(item.iteration, "iteration"));
  if (item.rounds) facts.push(item.kind === "story" ? `reviews: ${item.rounds}` : `sent back: ${item.rounds}`);
  return h("button", { class: `card ${item.status === "working" ? "working" : ""}`, type: "button", onclick: () => onOpen(item) },
    h("span", { class: "card-id" }, item.id),
    h("span", { class: "card-title" }, item.title || "(no title)"),
    facts.length > 0 && h("span", { class: "card-facts" }, facts.join(" · ")),
    item.note && h("span", { class: "card-note" }, item.note),
  );
}

function board(data, onOpen) {
  const total = data.lanes.reduce((sum, lane) => sum + lane.cards.length, 0);
  const rounds = data.lanes.flatMap((lane) => lane.cards).filter((item) => item.rounds > 0);
  rounds.sort((one, other) => other.rounds - one.rounds);
  const counted = rounds.slice(0, 20).map((item) => ({ name: `${item.id} ${item.title}`, value: item.rounds }));
  const title = data.kind === "story" ? `Stories: ${data.title}` : data.title;
  return h("section", { class: "board", "aria-label": title },
    h("h2", {}, title, " ", dim(String(total))),
    data.problem && h("p", { class: "problem" }, data.problem),
    h("div", { class: "lanes" },
      data.lanes.map((lane) =>
        h("section", { class: `lane ${lane.cards.length ? "" : "is-empty"}`, "aria-label": `${lane.title}: ${lane.cards.length}` },
          h("h3", {}, lane.title, " ", dim(String(lane.cards.length))),
          lane.cards.map((item) => card(item, onOpen)),
        ),
      ),
    ),
    counts(data.kind === "story" ? "Reviews per story" : "How often tasks were sent back", counted),
  );
}

export function home(state, onOpen) {
  const known = new Set(state.runs.map((run) => run.id));
  const parts = (id) => state.runs.filter((run) => run.parent === id).length;
  const live = state.runs.filter((run) => run.live);
  const over = state.runs.filter((run) => !run.live && !known.has(run.parent));
  const rows = (runs) => h("div", { class: "runs" }, runs.map((run) => runRow(run, parts(run.id))));
  return [
    h("h1", { class: "sr" }, "Runs and boards"),
    h("section", { "aria-label": "Under way" },
      h("h2", {}, "Under way"),
      live.length ? rows(live) : h("p", { class: "empty" }, "Nothing is running. Start a run with `ralph run`."),
    ),
    state.boards.map((data) => board(data, onOpen)),
    over.length > 0 && h("section", { "aria-label": "Earlier runs" }, h("h2", {}, "Earlier runs"), rows(over)),
  ];
}

/** ``onAsk`` gets what to ask of the task; null on a read-only page. */
export function cardDetail(detail, onAsk) {
  const item = detail.card;
  const runs = [...new Set(detail.history.map((each) => each.run).filter(Boolean))].slice(0, 10);
  const list = (title, items) => items.length > 0 && [h("h3", {}, title), h("ul", {}, items.map((text) => h("li", {}, text)))];
  return [
    h("h2", { id: "dialog-title" }, `${item.id} ${item.title}`),
    h("p", { class: "dim" }, [item.status, item.role, item.iteration ? (item.maximum ? `iteration ${item.iteration}/${item.maximum}` : plural(item.iteration, "iteration")) : ""].filter(Boolean).join(" · "), item.run && [" · now in ", h("a", { href: runLink(item.run) }, item.run)]),
    detail.description && h("p", { class: "pre" }, detail.description),
    detail.note && [h("h3", {}, "Feedback"), h("p", { class: "pre" }, detail.note)],
    list("Acceptance criteria", detail.criteria),
    list("Depends on", detail.dependsOn),
    detail.completion.length > 0 && [
      h("h3", {}, "Completion"),
      h("table", {},
        h("thead", {}, h("tr", {}, ["role", "verified by", "promise", "at most"].map((name) => h("th", {}, name)))),
        h("tbody", {}, detail.completion.map((each) => h("tr", {}, [each.role, each.method, each.promise, each.maximum ?? ""].map((value) => h("td", {}, String(value)))))),
      ),
    ],
    detail.history.length > 0 && [
      h("h3", {}, "History"),
      h("ul", { class: "history" },
        detail.history.map((each) =>
          h("li", {},
            dim(`${moment(each.at)} `),
            each.verdict && h("span", { class: `verdict ${each.verdict}` }, each.verdict),
            ` ${[each.role, each.what, each.reason].filter(Boolean).join(": ")}`,
          ),
        ),
      ),
      runs.length > 0 && h("p", {}, "Runs: ", runs.map((id, index) => [index > 0 && ", ", h("a", { href: runLink(id) }, id)])),
    ],
    onAsk && h("div", { class: "buttons" }, item.can.map((name) => button(name === "cancel" ? "Cancel this task" : "Try it again", () => onAsk(name), name === "cancel" ? "danger" : "primary"))),
  ];
}
