// The page of one run: its status, stream, iterations and charts.

import { download, get, post, runLink, runPath } from "./api.js";
import { askForNote, askToStop } from "./asks.js";
import { bars, rates } from "./charts.js";
import { button, compact, dim, duration, fill, h, keyOf, moment, money, redraw } from "./dom.js";
import { TONES, eventRows, lastTodo, todoList } from "./events.js";
import { iterationRow } from "./iteration.js";
import { inline } from "./markdown.js";
import { runRow, spent, stateChip } from "./home.js";
import { pullRequest } from "./pull.js";

const MOST_ROWS = 2000;
const MOST_ROWS_READ = 20000; // while someone reads further up, nothing disappears from under their eyes
/** A fact, and how much of its limit is used, if it has one. */
function used(name, value, amount, limit, show) {
  if (value === "") return null;
  return h("div", {}, h("dt", {}, name), h("dd", {}, value, limit && [dim(` of ${show(limit)}`), h("progress", { max: limit, value: Math.min(amount, limit), "aria-label": `${name}: used of the limit` })]));
}

/** ``to continue: ralph resume r1`` */
function nextStep(text) {
  const at = text.indexOf(": ") + 2;
  return h("p", { class: "dim" }, text.slice(0, at), h("code", {}, text.slice(at)));
}

const GROUPS = [["all", "Everything"], ["words", "Words"], ["tools", "Tools"], ["checks", "Checks"]];

export class RunPage {
  constructor(id, data, { readOnly, say, openDialog, resume }) {
    this.id = id;
    this.readOnly = readOnly;
    this.say = say;
    this.openDialog = openDialog;
    this.resume = resume;
    this.iterations = new Map();
    this.waiting = [];
    this.first = data.events[0]?.seq ?? 0;
    this.last = data.last;
    this.earlier = data.earlier;
    this.missed = false;
    this.open = new Set();
    this.head = h("section", { class: "run-top", "aria-label": "Status" });
    this.pull = h("section", { class: "panel pull", "aria-label": "Pull request", hidden: true });
    this.todo = h("section", { class: "panel", "aria-label": "The agent's to-do list", hidden: true });
    this.parts = h("section", { class: "panel", "aria-label": "Parts", hidden: true });
    this.list = h("section", { class: "panel", "aria-label": "Iterations" });
    this.plots = h("section", { class: "panel", "aria-label": "Charts" });
    this.stream = h("div", { class: "stream", tabindex: "0", role: "log", "aria-label": "Events", "aria-live": "off", "data-filter": "all" });
    this.older = button("Show earlier events", () => this.loadOlder(), "older");
    this.element = h("div", { class: "run-page" }, this.head, this.streamSection(), h("aside", {}, this.pull, this.todo, this.parts, this.list, this.plots));
    this.take(data);
    this.append(data.events);
    this.flush();
    this.scrollDown();
  }

  streamSection() {
    const buttons = GROUPS.map(([key, name]) => h("button", { type: "button", "aria-pressed": String(key === "all"), onclick: (event) => this.filter(key, event.currentTarget) }, name));
    this.jump = h("button", { type: "button", class: "jump", hidden: true, onclick: () => this.scrollDown() }, "↓ newest");
    this.stream.addEventListener("scroll", () => this.isAtEnd() && (this.jump.hidden = true), { passive: true });
    this.stream.append(this.older);
    return h("section", { class: "live", "aria-label": "Live stream" }, h("div", { class: "filters", role: "group", "aria-label": "Show" }, buttons), this.stream, this.jump);
  }

  filter(key, button) {
    this.stream.dataset.filter = key;
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
    this.scrollDown();
  }

  // --- news from the server ---

  take(data) {
    this.run = data.run;
    for (const each of data.iterations) this.iterations.set(`${each.iteration}.${each.attempt}`, each);
    this.figures = data.figures;
    redraw(this.head, keyOf(data.run, data.header), () => this.drawHead(data.header ?? []));
    this.pull.hidden = data.pullRequests.length === 0;
    redraw(this.pull, keyOf(data.pullRequests), () => data.pullRequests.flatMap(pullRequest));
    this.parts.hidden = !data.parts.length;
    redraw(this.parts, keyOf(data.parts), () => [h("h2", {}, "Parts ", dim(String(data.parts.length))), h("div", { class: "parts" }, data.parts.map((part) => runRow(part)))]);
    const iterations = [...this.iterations.entries()];
    this.list.hidden = !iterations.length && data.parts.length > 0;
    this.plots.hidden = !iterations.some(([, each]) => each.decision);
    redraw(this.list, keyOf(iterations), () => this.drawIterations());
    redraw(this.plots, keyOf(iterations, data.figures), () => this.drawCharts());
  }

  happened(event) {
    if (event.seq <= this.last) return;
    this.last = event.seq;
    this.waiting.push(event);
    if (this.waiting.length === 1) requestAnimationFrame(() => this.flush());
    // A hidden page paints nothing: the queue must stay bounded.
    if (this.waiting.length > MOST_ROWS) {
      this.waiting.splice(0, this.waiting.length - MOST_ROWS);
      this.missed = true;
    }
  }

  flush() {
    const events = this.waiting.splice(0);
    if (!events.length) return;
    const follows = this.isAtEnd();
    if (this.missed) {
      // There is a gap between the visible and the new events: start over, the reader can load the rest.
      this.missed = false;
      this.forget(this.stream.children.length);
      this.first = events[0].seq;
    }
    this.append(events);
    const most = follows ? MOST_ROWS : MOST_ROWS_READ;
    this.forget(this.stream.children.length - 1 - most);
    if (follows) this.scrollDown();
    else this.jump.hidden = false;
  }

  /** Removes so many rows at the top, and the rest of an event that was cut in two. */
  forget(count) {
    if (count <= 0) return;
    let seq = "";
    for (let row = this.stream.children[1]; row && (count > 0 || row.dataset.seq === seq); row = this.stream.children[1]) {
      seq = row.dataset.seq;
      row.remove();
      count -= 1;
    }
    this.first = Number(this.stream.children[1]?.dataset.seq ?? this.first);
    this.earlier = true;
    this.older.hidden = false;
  }

  append(events) {
    const rows = events.flatMap(eventRows);
    this.stream.append(...rows);
    const todo = lastTodo(events);
    if (todo) {
      this.todo.hidden = false;
      fill(this.todo, h("h2", {}, "The agent's to-do list"), todoList(todo));
    }
    this.older.hidden = !this.earlier;
  }

  /** What the server answers; undefined, and the reason on the screen, if it refuses. */
  async tryTo(request) {
    try {
      return await request;
    } catch (error) {
      this.say(error.message, "bad");
      return undefined;
    }
  }

  async loadOlder() {
    const found = await this.tryTo(get(`${runPath(this.id)}/events?before=${this.first}&limit=200`));
    if (!found) return;
    this.earlier = found.earlier;
    this.older.hidden = !found.earlier;
    if (!found.events.length) return;
    this.first = found.events[0].seq;
    const before = this.stream.scrollHeight;
    this.older.after(...found.events.flatMap(eventRows));
    this.stream.scrollTop += this.stream.scrollHeight - before;
  }

  isAtEnd() {
    return this.stream.scrollHeight - this.stream.scrollTop - this.stream.clientHeight < 60;
  }

  scrollDown() {
    this.stream.scrollTop = this.stream.scrollHeight;
    this.jump.hidden = true;
  }

  // --- drawing ---

  drawHead(header) {
    const run = this.run;
    const seconds = (run.endedAt ?? (run.live ? Date.now() / 1000 : run.activeAt)) - run.startedAt;
    const fact = (name, value) => value !== "" && h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return [
      h("div", { class: "run-title" }, h("h1", {}, run.title ? inline(run.title) : run.id), stateChip(run)),
      (run.title || run.parent) && h("p", { class: "dim" }, run.title && run.id, run.parent && [run.title ? ", part of " : "part of ", h("a", { href: runLink(run.parent) }, run.parent)]),
      run.reason && h("p", { class: "why" }, run.reason, run.waitsUntil && h("span", { class: "until", "data-until": run.waitsUntil })),
      run.concerns.map((concern) => h("p", { class: "odd" }, `⚠ ${concern}`)),
      h("dl", { class: "facts" },
        used("Iteration", run.iteration || run.maximum ? String(run.iteration) : "", run.iteration, run.maximum, String),
        used("Cost", run.limits.cost && run.cost === null ? "unknown" : spent(run), run.cost ?? 0, run.limits.cost, money),
        used("Tokens", run.tokens || run.limits.tokens ? compact(run.tokens) : "", run.tokens, run.limits.tokens, compact),
        used(run.live ? "Running for" : "From start to end", run.live ? h("span", { "data-since": run.startedAt }, duration(seconds)) : duration(seconds), seconds, run.limits.seconds, duration),
        fact("Started", moment(run.startedAt)),
        fact("Agent", `${run.agentWords} · ${run.profile}`),
        fact("Subscription", run.quota.join(", ")),
      ),
      header.map((note) => h("p", { class: "dim" }, note)),
      run.next.map(nextStep),
      this.buttons(),
    ];
  }

  buttons() {
    const can = (name) => this.run.can.includes(name) && !this.readOnly;
    return h("div", { class: "buttons" },
      can("pause") && button("Pause", () => this.ask("pause", "It pauses after the current session.")),
      can("unpause") && button("Continue", () => this.ask("unpause", "It continues."), "primary"),
      can("steer") && button("Steer…", () => this.steer()),
      can("stop") && button("Stop…", () => this.stop(), "danger"),
      this.run.resume && !this.readOnly && button("Resume…", () => this.resume(this.run), "primary"),
      button("Report", () => this.tryTo(download(`${runPath(this.id)}/report.html`, `ralph-report-${this.id}.html`))),
    );
  }

  async ask(request, done, content = {}) {
    const answer = await this.tryTo(post(`${runPath(this.id)}/${request}`, content));
    if (answer) this.say(done);
    return Boolean(answer);
  }

  steer() {
    askForNote(this.openDialog, (text) => this.ask("steer", "Added to the next prompt.", { text }));
  }

  stop() {
    askToStop(this.openDialog, {
      title: "Stop this run?",
      words: "It can be resumed later, here or with `ralph resume`.",
      stop: () => this.ask("stop", "It stops after the current step."),
      stopNow: this.run.can.includes("stop_now") && (() => this.ask("stop_now", "Stopping the agent now.")),
    });
  }

  drawIterations() {
    const all = [...this.iterations.entries()].reverse();
    return [h("h2", {}, "Iterations ", dim(String(Math.max(this.figures.judged, all.length)))), !all.length && h("p", { class: "empty" }, "None yet."), all.map(([key, each]) => this.iteration(key, each))];
  }

  iteration(key, each) {
    const toggle = (event) => (event.currentTarget.open ? this.open.add(key) : this.open.delete(key));
    return iterationRow(each, { open: this.open.has(key), ontoggle: toggle, more: button("Show changes", () => this.changes(each)) });
  }

  async changes(each) {
    const found = await this.tryTo(get(`${runPath(this.id)}/iterations/${each.iteration}/${each.attempt}/changes`));
    if (!found) return;
    const colour = { "+": "add", "-": "del", "@": "hunk" };
    const patch = found.patch.trimEnd().split("\n").map((text) => h("span", { class: colour[text[0]] ?? "" }, `${text}\n`));
    this.openDialog([
      h("h2", { id: "dialog-title" }, `Changes in iteration ${each.iteration}`),
      found.note && h("p", { class: found.uncommitted ? "odd" : "empty" }, `${found.note[0].toUpperCase()}${found.note.slice(1)}.`),
      h("ul", { class: "commits" }, found.commits.map((commit) => h("li", {}, h("code", {}, commit.id), ` ${commit.subject}`))),
      found.files.length > 0 && h("table", { class: "files" }, h("tbody", {}, found.files.map((file) => h("tr", {}, h("td", {}, h("code", {}, file.path)), h("td", { class: "add" }, file.added === null ? "new" : `+${file.added}`), h("td", { class: "del" }, file.removed === null ? "" : `-${file.removed}`))))),
      found.patch && h("pre", { class: "patch", tabindex: "0" }, patch),
      found.isCut && h("p", { class: "dim" }, "The rest is not shown."),
    ]);
  }

  drawCharts() {
    const all = [...this.iterations.values()].filter((each) => each.decision);
    const named = (value) => all.map((each) => ({ label: `#${each.iteration}`, value: value(each), kind: TONES[each.tone] }));
    const drawn = [bars("Cost per iteration", named((each) => each.cost), money), bars("Time per iteration", named((each) => each.seconds), duration), rates("Pass rate of the checks", this.figures.rates)].filter(Boolean);
    return [h("h2", {}, "Charts"), drawn];
  }
}
