// The fleet: its jobs beside the local runs, and the page of one job with the lines of its session as they come.

import { get, jobLink, jobPath, post } from "./api.js";
import { askForNote, askToStop } from "./asks.js";
import { ago, button, compact, dim, fill, h, keyOf, moment, money, plural, redraw } from "./dom.js";
import { iterationRow } from "./iteration.js";

const SIGNS = { needs: "◌", queued: "○", running: "●", pausing: "⏸", stopping: "■", waiting: "◔", paused: "⏸", merging: "⇢", completed: "✓", merged: "✓", exhausted: "■", cancelled: "■", failed: "✗", unreadable: "?" };
const GROUPS = [["all", "All"], ["person", "Needs you"], ["running", "Running"], ["waiting", "Waiting"], ["ended", "Ended"]];
const MOST_LINES = 5000;
const MOST_ROWS = 20; // of the table, before somebody asks for all
const SILENCE = 3000; // milliseconds without an answer after which to say so

const chip = (job) => h("span", { class: `chip state ${job.state}` }, h("span", { "aria-hidden": "true" }, `${SIGNS[job.state] ?? ""} `), job.words);
const used = (job) => (job.cost !== null ? money(job.cost) : job.tokens ? `${compact(job.tokens)} tokens` : "");
const since = (at) => at > 0 && h("span", { class: "ago", "data-at": at }, ago(at));
const until = (job) => job.until > 0 && h("span", { class: "until", "data-until": job.until });
const textOf = (job) => [job.id, job.title, job.repository, ...job.labels, job.worker, job.words, job.reason].join(" ").toLowerCase();

/** Beside the local runs. What is typed into its filter outlives every redraw. */
export class FleetPanel {
  constructor() {
    this.group = "all";
    this.state = null;
    this.total = dim("");
    this.search = h("input", { type: "search", placeholder: "Filter jobs", "aria-label": "Filter jobs", autocomplete: "off", spellcheck: "false", oninput: () => this.draw() });
    this.groups = h("div", { class: "filters", role: "group", "aria-label": "Which jobs" });
    this.said = h("div", { role: "status" });
    this.table = h("div", { class: "jobs" });
    this.element = h("section", { class: "fleet", "aria-label": "Fleet" }, h("div", { class: "row" }, h("h2", {}, "Fleet ", this.total), this.search), this.said, this.groups, this.table);
    this.showsAll = false;
    const asking = h("p", { class: "empty" }, "Asking the fleet…");
    fill(this.table, asking);
    this.search.hidden = true;
    setTimeout(() => (asking.textContent = "Asking the fleet… no answer yet. Is its Temporal server running?"), SILENCE);
  }

  take(state) {
    this.state = state;
    this.total.textContent = !state.isRead ? "no answer" : [plural(state.jobs.length, "job"), state.cost !== null ? money(state.cost) : "", state.tokens ? `${compact(state.tokens)} tokens` : ""].filter(Boolean).join(" · ");
    const stale = state.jobs.length > 0 && state.seenAt > 0;
    redraw(this.said, keyOf(state.problem, state.hint, stale && state.seenAt), () => [state.problem && h("p", { class: "odd" }, [state.problem, state.hint].filter(Boolean).join(". "), stale && [". These jobs were seen ", since(state.seenAt), "."])]);
    this.draw();
  }

  draw() {
    const { jobs, counts, isRead } = this.state ?? { jobs: [], counts: {}, isRead: false };
    this.groups.hidden = this.search.hidden = !jobs.length;
    if (!isRead) {
      redraw(this.table, "", () => this.state?.problem && h("p", { class: "empty" }, "Nothing is known of its jobs yet."));
      return;
    }
    redraw(this.groups, keyOf(counts, this.group), () => GROUPS.map(([key, name]) => h("button", { type: "button", "aria-pressed": String(key === this.group), class: key === "person" && counts.person > 0 && "odd", onclick: () => this.choose(key) }, `${name} ${key === "all" ? jobs.length : counts[key]}`)));
    const sought = this.search.value.toLowerCase().trim();
    const shown = jobs.filter((job) => (this.group === "all" || job.group === this.group) && textOf(job).includes(sought));
    const rows = this.showsAll ? shown : shown.slice(0, MOST_ROWS);
    redraw(this.table, keyOf(rows, shown.length, jobs.length > 0), () => (shown.length ? [table(rows), rows.length < shown.length && button(`Show all ${shown.length} jobs`, () => this.showAll())] : h("p", { class: "empty" }, jobs.length ? "No job is like that." : ["No jobs yet. ", h("code", {}, "ralph fleet submit"), " hands one in."])));
  }

  showAll() {
    this.showsAll = true;
    this.draw();
  }

  choose(key) {
    this.group = key;
    this.draw();
  }
}

const cell = (name, value) => h("td", { "data-name": name, class: !value && "none" }, value || dim("–"));

function table(jobs) {
  const names = ["Job", "State", "Iteration", "Spent", "Worker", "Since", "Why"];
  return h("table", {},
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, jobs.map((job) => h("tr", { "data-job": job.id, class: job.needsYou && "needs-you" },
      h("td", { class: "job-name" }, h("a", { href: jobLink(job.id) }, job.id), job.title && h("span", { class: "dim job-title" }, job.title)),
      h("td", {}, chip(job), job.needsYou && h("span", { class: "sr" }, " needs you")),
      cell("iteration", job.iterations === "0" ? "" : job.iterations),
      cell("spent", used(job)),
      cell("worker", job.worker),
      h("td", { class: "dim since" }, since(job.since)),
      h("td", { class: "job-why" }, job.reason, until(job)),
    ))),
  );
}

/** One job. ``take`` gets its facts, ``hear`` the lines of its session. */
export class JobPage {
  constructor(id, job, { readOnly, say, openDialog }) {
    this.id = id;
    this.readOnly = readOnly;
    this.say = say;
    this.openDialog = openDialog;
    this.head = h("section", { class: "run-top", "aria-label": "Status" });
    this.facts = h("section", { class: "panel", "aria-label": "About this job" });
    this.list = h("section", { class: "panel", "aria-label": "Iterations", hidden: true });
    this.isOver = false; // it has ended, and its record was asked for
    this.isRead = false; // what is shown comes from there
    this.empty = h("p", { class: "empty" });
    this.console = h("div", { class: "stream console", tabindex: "0", role: "log", "aria-label": "Console", "aria-live": "off" }, this.empty);
    this.jump = h("button", { type: "button", class: "jump", hidden: true, onclick: () => this.scrollDown() }, "↓ newest");
    this.console.addEventListener("scroll", () => this.isAtEnd() && (this.jump.hidden = true), { passive: true });
    this.element = h("div", { class: "run-page" }, this.head, h("section", { class: "live", "aria-label": "Live console" }, this.console, this.jump), h("aside", {}, this.list, this.facts));
    this.take(job);
  }

  take(job) {
    this.job = job;
    redraw(this.head, keyOf(job), () => this.drawHead());
    redraw(this.facts, keyOf(job.facts, job.notes), () => [
      h("h2", {}, "About this job"),
      h("dl", { class: "job-facts" }, job.facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, name === "Repository" && job.address ? h("a", { href: job.address, rel: "noreferrer noopener", target: "_blank" }, value) : h("code", {}, value))])),
      job.notes.length > 0 && [h("h3", {}, "Notes for the next prompt"), h("ul", {}, job.notes.map((text) => h("li", {}, text)))],
    ]);
    this.console.classList.toggle("is-over", !job.isOpen);
    if (job.isOpen) {
      this.isOver = this.isRead = false;
      this.tell("The lines of its session appear here as they come. ", h("code", {}, `ralph fleet logs ${this.id}`), " prints its whole log.");
    } else if (!this.isOver) {
      this.isOver = true;
      this.readPast();
    }
  }

  /** Above the lines. */
  tell(...words) {
    this.empty.hidden = !words.length;
    redraw(this.empty, keyOf(words.map((word) => word.textContent ?? word)), () => words);
  }

  async readPast() {
    this.tell("This job has ended. Reading its record…");
    let past;
    try {
      past = await get(`${jobPath(this.id)}/past`);
    } catch (error) {
      if (this.isOver) this.tell(`This job has ended. Its record cannot be read from here: ${error.message}`);
      return;
    }
    if (!this.isOver) return;
    this.list.hidden = !past.iterations.length;
    redraw(this.list, keyOf(past.iterations), () => [h("h2", {}, "Iterations ", dim(String(past.iterations.length))), [...past.iterations].reverse().map((each) => iterationRow(each))]);
    if (!past.lines.length) return this.tell("This job has ended. Nothing was printed.");
    this.tell();
    fill(this.console, this.empty);
    this.hear(past);
    this.scrollDown();
    this.isRead = true;
  }

  hear({ lines }) {
    if (this.isRead) return; // the record has them
    const follows = this.isAtEnd();
    this.console.append(...lines.map(drawLine));
    while (this.console.children.length > MOST_LINES) this.console.children[1].remove();
    if (follows) this.scrollDown();
    else this.jump.hidden = false;
  }

  isAtEnd() {
    return this.console.scrollHeight - this.console.scrollTop - this.console.clientHeight < 60;
  }

  scrollDown() {
    this.console.scrollTop = this.console.scrollHeight;
    this.jump.hidden = true;
  }

  drawHead() {
    const job = this.job;
    const fact = (name, value) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return [
      h("div", { class: "run-title" }, h("h1", {}, job.title || job.id), chip(job), job.needsYou && h("span", { class: "odd" }, "needs you")),
      job.title && h("p", { class: "dim" }, job.id),
      job.reason && h("p", { class: "why" }, job.reason, until(job)),
      job.hint && h("p", { class: "dim" }, job.hint),
      h("dl", { class: "facts" },
        fact("Iteration", job.now ? `${job.now.iteration}, under way` : job.iterations),
        fact("Spent", used(job) || "–"),
        job.now && job.now.cost > 0 && fact("In this session", money(job.now.cost)),
        fact("Worker", (job.now && job.now.worker) || job.worker || "–"),
        fact("Since", since(job.since)),
        fact("Submitted", moment(job.startedAt)),
        fact("Priority", String(job.priority)),
      ),
      this.buttons(),
    ];
  }

  buttons() {
    const can = (name) => this.job.can.includes(name) && !this.readOnly;
    return h("div", { class: "buttons" },
      can("pause") && button("Pause", () => this.ask("pause")),
      can("unpause") && button("Continue", () => this.ask("unpause"), "primary"),
      can("steer") && button("Steer…", () => askForNote(this.openDialog, (text) => this.ask("steer", { text }))),
      can("stop") && button("Stop…", () => this.stop(), "danger"),
      can("retry") && button("Retry", () => this.ask("retry"), "primary"),
    );
  }

  stop() {
    askToStop(this.openDialog, { title: "Stop this job?", words: "It can be continued later: Retry here, or `ralph fleet retry`.", stop: () => this.ask("stop"), stopNow: () => this.ask("stop_now") });
  }

  async ask(request, content = {}) {
    try {
      const { answer } = await post(`${jobPath(this.id)}/${request}`, content);
      this.say(`${this.id}: ${answer}.`);
      return true;
    } catch (error) {
      this.say(error.message, "bad");
      return false;
    }
  }
}

function drawLine(line) {
  if (line.kind === "session") return h("h3", { class: "divider" }, line.text);
  if (line.kind === "missed") return h("p", { class: "dim" }, `… ${plural(line.count, "line")} before these; the whole log has them`);
  return h("div", { class: "console-line" }, line.text || " ");
}
