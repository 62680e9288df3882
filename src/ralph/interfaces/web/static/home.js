// The first page: runs, and the boards of tasks and stories.

import { runLink } from "./api.js";
import { counts } from "./charts.js";
import { ago, button, compact, dim, duration, h, money, moment, plural } from "./dom.js";
import { inline, markdown } from "./markdown.js";
import { pullMark } from "./pull.js";

const SIGNS = { running: "●", paused: "⏸", waiting: "◔", interrupted: "◌", completed: "✓", exhausted: "■", cancelled: "■", failed: "✗" };

export const stateChip = (run) => h("span", { class: `chip state ${run.state}` }, h("span", { "aria-hidden": "true" }, `${SIGNS[run.state] ?? ""} `), run.stateWords);

/** Part of the usage may have no known price. */
export const spent = (run) => (run.costIsPartial && run.cost !== null ? `at least ${money(run.cost)}` : money(run.cost));

export function countOf(run) {
  return run.maximum ? `${run.iteration} of ${run.maximum}` : String(run.iteration);
}

/** What is used of its limits, those that it has. */
function budget(run) {
  const { cost, tokens, seconds } = run.limits;
  return [
    (run.cost !== null || cost) && h("span", {}, run.cost !== null ? spent(run) : "unknown cost", cost && ` of ${money(cost)}`),
    (run.tokens > 0 || tokens) && h("span", {}, compact(run.tokens), tokens && ` of ${compact(tokens)}`, " tokens"),
    seconds && h("span", {}, h("span", { "data-since": run.startedAt }, duration(Date.now() / 1000 - run.startedAt)), ` of ${duration(seconds)}`),
  ];
}

/** ``parts``: how many runs belong to it. ``whose``: the name of its project, among those of others. */
export function runRow(run, parts = 0, whose = "") {
  return h("a", { class: `run ${run.live ? "is-live" : ""}`, href: runLink(run.id, run.project), "data-run": run.id },
    whose && h("span", { class: "whose" }, whose),
    h("span", { class: "run-head" }, h("strong", { class: "run-name" }, run.title || run.id), stateChip(run)),
    run.title && h("span", { class: "run-id" }, run.id),
    h("span", { class: "run-facts" },
      parts > 0 ? h("span", {}, plural(parts, "part")) : (run.iteration > 0 || run.maximum) && h("span", {}, `iteration ${countOf(run)}`),
      budget(run),
      h("span", {}, `${run.profile} · ${run.agent}`),
      run.live && run.quota.map((words) => h("span", {}, words)),
      h("span", { title: "the last event" }, run.live && "active ", h("span", { class: "ago", "data-at": run.activeAt }, ago(run.activeAt))),
    ),
    run.pull && pullMark(run.pull),
    run.check && h("span", { class: "run-check" }, h("span", { class: `verdict ${run.check.verdict}` }, run.check.verdict), ` ${run.check.name}`),
    run.reason && h("span", { class: "run-why" }, run.reason, run.waitsUntil && h("span", { class: "until", "data-until": run.waitsUntil })),
    run.maximum && run.live && h("progress", { max: run.maximum, value: Math.min(run.iteration, run.maximum), "aria-label": "iterations used" }),
  );
}

function card(item, onOpen, whose) {
  const facts = [];
  if (["working", "blocked", "waiting"].includes(item.status)) facts.push(item.status);
  if (item.iteration) facts.push(item.maximum ? `iteration ${item.iteration}/${item.maximum}` : plural(item.iteration, "iteration"));
  if (item.rounds) facts.push(item.kind === "story" ? `reviews: ${item.rounds}` : `sent back: ${item.rounds}`);
  return h("button", { class: `card ${item.status === "working" ? "working" : ""}`, type: "button", onclick: () => onOpen(item) },
    h("span", { class: "card-id" }, whose && [h("span", { class: "whose" }, whose), " "], item.id),
    h("span", { class: "card-title" }, item.title || "(no title)"),
    facts.length > 0 && h("span", { class: "card-facts" }, facts.join(" · ")),
    item.proof && h("span", { class: "card-proof", title: `proven by ${item.proof}` }, proof(item.proof)),
    item.note && h("span", { class: "card-note" }, item.note),
  );
}

/** What must pass: ``command: pytest -q``. */
function proof(words) {
  const at = words.indexOf(": ");
  return at < 0 ? [words] : [dim(`${words.slice(0, at)} `), h("code", {}, words.slice(at + 2))];
}

/** ``nameOf``: the name of a card's project, where there are several. */
export function board(data, onOpen, nameOf = null) {
  const total = data.lanes.reduce((sum, lane) => sum + lane.cards.length, 0);
  const rounds = data.lanes.flatMap((lane) => lane.cards).filter((item) => item.rounds > 0);
  rounds.sort((one, other) => other.rounds - one.rounds);
  const counted = rounds.slice(0, 20).map((item) => ({ name: `${item.id} ${item.title}`, value: item.rounds }));
  const title = data.kind === "story" && !nameOf ? `Stories: ${data.title}` : data.title;
  return h("section", { class: "board", "aria-label": title },
    h("h2", {}, title, " ", dim(String(total))),
    data.problem && h("p", { class: "problem" }, data.problem),
    h("div", { class: "lanes" },
      data.lanes.map((lane) =>
        h("section", { class: `lane ${lane.cards.length ? "" : "is-empty"}`, "aria-label": `${lane.title}: ${lane.cards.length}` },
          h("h3", {}, lane.title, " ", dim(String(lane.cards.length))),
          lane.cards.map((item) => card(item, onOpen, nameOf?.(item.project))),
        ),
      ),
    ),
    counts(data.kind === "story" ? "Reviews per story" : "How often tasks were sent back", counted),
  );
}

/** ``beginnings``: what to type where nothing has run yet; none beside the fleet. ``starts``: what may be started; null on a
 * read-only page. */
export function home(state, onOpen, beginnings, starts) {
  const known = new Set(state.runs.map((run) => run.id));
  const parts = (id) => state.runs.filter((run) => run.parent === id);
  const live = state.runs.filter((run) => run.live && !state.runs.some((other) => other.live && other.id === run.parent));
  const over = state.runs.filter((run) => !run.live && !known.has(run.parent));
  const rows = (runs) => h("div", { class: "runs" }, runs.map((run) => runRow(run, parts(run.id).length)));
  const alone = live.filter((run) => !parts(run.id).length);
  const whole = live.filter((run) => parts(run.id).length);
  if (!state.runs.length && !state.boards.length && !state.problem) return begin(beginnings, starts);
  return [
    h("h1", { class: "sr" }, "Runs and boards"),
    h("section", { "aria-label": "Under way" },
      h("div", { class: "row" }, h("h2", {}, "Under way"), starts && startButtons(state, starts)),
      !live.length && h("p", { class: "empty" }, "Nothing is running.", !starts && [" Start a run with ", h("code", {}, "ralph run"), "."]),
      alone.length > 0 && rows(alone),
      whole.map((run) => h("div", { class: "whole" }, runRow(run, parts(run.id).length), rows(parts(run.id).filter((part) => part.live)))),
    ),
    state.boards.map((data) => board(data, onOpen)),
    over.length > 0 && h("section", { "aria-label": "Earlier runs" }, h("h2", {}, "Earlier runs"), rows(over)),
  ];
}

/** What can be started in a project, each after a question. */
export function startButtons(project, { work, run }) {
  return h("span", { class: "starts" },
    project.ready > 0 && button(`Start work on ${plural(project.ready, "task")}…`, work),
    !project.problem && button("Start a run…", run),
  );
}

function begin(beginnings, starts) {
  if (!beginnings.length) return h("section", { "aria-label": "Runs here" }, h("div", { class: "row" }, h("h2", {}, "Runs on this machine"), starts && startButtons({ ready: 0 }, starts)), h("p", { class: "empty" }, "None in this project yet."));
  return h("section", { class: "begin" },
    h("h1", {}, "Nothing has run here yet"),
    h("p", {}, "Type one of these in a terminal, in this project. This page shows what happens as soon as it does."),
    starts && h("div", { class: "buttons" }, button("Start a run…", starts.run, "primary")),
    h("dl", {}, beginnings.map((each) => h("div", {}, h("dt", {}, h("code", {}, each.command)), h("dd", {}, inline(each.does))))),
  );
}

/** ``onAsk`` gets what to ask of the task; null on a read-only page. ``key``: of its project, if there are several. */
export function cardDetail(detail, onAsk, key) {
  const item = detail.card;
  const runs = [...new Set(detail.history.map((each) => each.run).filter(Boolean))].slice(0, 10);
  const list = (title, items) => items.length > 0 && [h("h3", {}, title), h("ul", {}, items.map((text) => h("li", {}, inline(text))))];
  return [
    h("h2", { id: "dialog-title" }, `${item.id} ${item.title}`),
    h("p", { class: "dim" }, [item.status, item.role, item.iteration ? (item.maximum ? `iteration ${item.iteration}/${item.maximum}` : plural(item.iteration, "iteration")) : ""].filter(Boolean).join(" · "), item.run && [" · now in ", h("a", { href: runLink(item.run, key) }, item.run)]),
    detail.description && markdown(detail.description),
    detail.note && [h("h3", {}, "Feedback"), markdown(detail.note)],
    list("Acceptance criteria", detail.criteria),
    list("Depends on", detail.dependsOn),
    detail.completion.length > 0 && [
      h("h3", {}, "What each role must show"),
      h("div", { class: "wide" }, h("table", {},
        h("thead", {}, h("tr", {}, ["role", "proven by", "promise", "iterations"].map((name) => h("th", {}, name)))),
        h("tbody", {}, detail.completion.map((each) => h("tr", { class: each.role === item.role && "now" }, h("td", {}, each.role), h("td", {}, each.proof ? proof(each.proof) : each.method), h("td", {}, h("code", {}, each.promise)), h("td", {}, each.maximum ? `at most ${each.maximum}` : "")))),
      )),
    ],
    !detail.completion.length && item.proof && [h("h3", {}, "Proven by"), h("p", {}, proof(item.proof))],
    detail.history.length > 0 && [
      h("h3", {}, "History"),
      h("ul", { class: "history" },
        detail.history.map((each) =>
          h("li", {},
            dim(`${moment(each.at)} `),
            each.verdict && h("span", { class: `verdict ${each.verdict}` }, each.verdict),
            ` ${[each.times > 1 && `${each.times} times`, each.role, each.what, each.reason].filter(Boolean).join(": ")}`,
          ),
        ),
      ),
      runs.length > 0 && h("p", {}, "Runs: ", runs.map((id, index) => [index > 0 && ", ", h("a", { href: runLink(id, key) }, id)])),
    ],
    onAsk && h("div", { class: "buttons" }, item.can.map((name) => button(name === "cancel" ? "Cancel this task…" : "Try it again…", () => onAsk(name), name === "cancel" ? "danger" : "primary"))),
  ];
}
