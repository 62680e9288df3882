// Routing, what each page shows, and the connection that keeps it up to date.

import { enter, follow, get, hasToken, jobPath, post, projectLink, projectPath, runPath, useLink } from "./api.js";
import { ago, duration, fill, h, keyOf, redraw } from "./dom.js";
import { FleetPanel, JobPage } from "./fleet.js";
import { cardDetail, home } from "./home.js";
import { overview } from "./overview.js";
import { RunPage } from "./run.js";
import { Starts, question } from "./start.js";

const main = document.getElementById("main");
const project = document.getElementById("project");
const crumb = document.getElementById("crumb");
const link = document.getElementById("link");
const problem = document.getElementById("problem");
const said = document.getElementById("said");
const dialog = document.getElementById("dialog");

const SILENCE = 4000; // milliseconds without an answer after which to say what may be wrong

let settings = { readOnly: false, project: "", beginnings: [] }; // of the project that is open
let fleet = null; // the panel of the fleet, if it is shown
let several = null; // what is said of all projects, if there are several
let silent = 0;
let unfollow = () => {};
let visit = 0; // counts the pages opened: a late answer belongs to another one

function say(words, kind = "") {
  fill(said, h("p", { class: kind }, words));
  setTimeout(() => said.firstChild?.textContent === words && fill(said), 6000);
}

function showLink(state) {
  link.textContent = { live: "live", lost: "reconnecting…", ended: "ended", refused: "new link needed" }[state] ?? state;
  link.className = `link ${state === "refused" ? "lost" : state}`;
  if (state === "refused") showDoor();
  if (state !== "lost") {
    clearTimeout(silent);
    if (silent) problem.hidden = true;
    silent = 0;
  } else if (!silent) {
    silent = setTimeout(() => showProblem({ problem: "No answer from `ralph web`.", hint: "If it was stopped, start it again and open the link that it prints." }), SILENCE);
  }
}

/** The token is wrong, or there is none: what happened, and what to do. */
function showDoor() {
  visit += 1;
  unfollow();
  if (dialog.open) dialog.close();
  problem.hidden = true;
  document.title = "New link needed – ralph";
  const text = h("input", { id: "door-link", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "http://127.0.0.1:8484/?token=…" });
  const wrong = h("p", { class: "bad", role: "alert" });
  const enter = (event) => {
    event.preventDefault();
    if (!useLink(text.value)) wrong.textContent = "There is no token in this text.";
  };
  main.drawnFor = "";
  fill(main, h("section", { class: "door panel" },
    h("h1", {}, hasToken ? "This page's link is no longer valid" : "This tab needs the link"),
    h("p", {}, hasToken ? ["Each time ", h("code", {}, "ralph web"), " starts, it makes a new token, and this page still has an earlier one."] : ["The token belongs to one tab. Another tab, or another device, needs the link with its token, too."]),
    h("p", {}, "Open the link that ", h("code", {}, "ralph web"), " printed in its terminal, or paste it here:"),
    h("form", { onsubmit: enter }, h("label", { class: "sr", for: "door-link" }, "Link"), text, h("button", { type: "submit", class: "primary" }, "Open")),
    wrong,
    h("p", { class: "dim" }, "Your runs are not affected."),
  ));
  text.focus();
}

function showProblem(state) {
  problem.hidden = !state.problem;
  problem.textContent = [state.problem, state.hint].filter(Boolean).join(" ");
}

function openDialog(children) {
  const close = () => dialog.close();
  fill(dialog, h("button", { type: "button", class: "close", "aria-label": "Close", onclick: close }, "×"), children);
  if (!dialog.open) dialog.showModal();
  return close;
}

dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

const starts = new Starts({ openDialog, say });

/** What a task is asked, after the same question as a run that is stopped. */
const TASK_QUESTIONS = {
  cancel: { verb: "Cancel", words: ["A session that works on it ends at once; its branch keeps what was done so far."], label: "Cancel the task", kind: "danger" },
  retry: { verb: "Try again", words: ["It is open again, where it stopped. `ralph work` works on it: start it here if nothing does."], label: "Try again" },
};

async function openCard(item) {
  const path = projectPath(item.project);
  const ask = (request) => {
    const { verb, ...more } = TASK_QUESTIONS[request];
    const act = async () => {
      const { status } = await post(`${path}/tasks/${encodeURIComponent(item.id)}/${request}`);
      say(`${item.id} is ${status} now.`);
    };
    question(openDialog, { title: `${verb}: ${item.id}?`, ...more, act });
  };
  try {
    const detail = await get(`${path}/cards/${item.kind}/${encodeURIComponent(item.id)}`);
    openDialog(cardDetail(detail, settings.readOnly ? null : ask, item.project));
  } catch (error) {
    say(error.message, "bad");
  }
}

const title = (...more) => [...more, settings.project, "ralph"].filter(Boolean).join(" – ");

/** Where a first page is drawn: beside the fleet, if that is shown. */
function beside() {
  if (!fleet) return { page: main, on: {} };
  const page = h("div", { class: "page" });
  main.drawnFor = "";
  fill(main, fleet.element, page);
  return { page, on: { fleet: (state) => (fleet.take(state), tick()) } };
}

function showOverview(number) {
  crumb.textContent = "";
  document.title = title();
  const { page, on } = beside();
  const show = (state) => {
    if (number !== visit) return;
    redraw(page, keyOf(number, state), () => overview(state, openCard, settings.readOnly ? null : starts));
    keepTimes(state.runs);
    tick();
  };
  unfollow = follow({ on: { state: show, ...on }, onLink: showLink });
}

function keepTimes(runs) {
  for (const run of runs) {
    const since = main.querySelector(`[data-run="${CSS.escape(run.id)}"] .ago`);
    if (since) since.dataset.at = run.activeAt;
  }
}

function showHome(number, key) {
  crumb.textContent = "";
  document.title = title();
  const startsHere = (state) => {
    const project = { key, name: settings.project, ready: state.ready };
    return settings.readOnly ? null : { work: () => starts.work(project), run: () => starts.run(project) };
  };
  const { page, on } = several ? { page: main, on: {} } : beside();
  const show = (state) => {
    if (number !== visit) return;
    showProblem(state);
    redraw(page, keyOf(number, state), () => home(state, openCard, page === main ? settings.beginnings : [], startsHere(state)));
    keepTimes(state.runs);
    tick();
  };
  unfollow = follow({ on: { state: show, ...on }, onLink: showLink });
}

async function showJob(number, id) {
  enter("");
  if (several) settings = several;
  project.textContent = "Fleet";
  project.href = "#/";
  crumb.textContent = id;
  document.title = title(id);
  let job;
  try {
    job = await get(jobPath(id));
  } catch (error) {
    return number === visit ? showAbsent(error, "All jobs") : undefined;
  }
  if (number !== visit) return undefined;
  const page = new JobPage(id, job, { readOnly: settings.readOnly, say, openDialog });
  main.drawnFor = "";
  fill(main, page.element);
  tick();
  unfollow = follow({
    path: `${jobPath(id)}/stream?`,
    onLink: showLink,
    on: {
      state: showProblem,
      job: (data) => (page.take(data), tick()),
      lines: (data) => page.hear(data),
      gone: () => {
        unfollow();
        showLink("ended");
        showProblem({ problem: "This job is gone from the server." });
      },
    },
  });
  return undefined;
}

async function showRun(number, id, key) {
  crumb.textContent = id;
  document.title = title(id);
  let data;
  try {
    data = await get(runPath(id));
  } catch (error) {
    if (number !== visit) return;
    if (error.status === 401) return showLink("refused");
    main.drawnFor = "";
    fill(main, h("h1", {}, "Not found"), h("p", { class: "empty" }, error.message), h("p", {}, h("a", { href: `${projectLink(key)}/` }, "All runs")));
    showLink("ended");
    return;
  }
  if (number !== visit) return;
  crumb.textContent = data.run.title || id;
  document.title = title(data.run.title || id);
  const page = new RunPage(id, data, { readOnly: settings.readOnly, say, openDialog, resume: (run) => starts.resume(run, key) });
  main.drawnFor = "";
  fill(main, page.element);
  page.scrollDown();
  tick();
  unfollow = follow({
    run: id,
    after: page.last,
    onLink: showLink,
    on: {
      state: showProblem,
      happened: (event) => page.happened(event),
      run: (progress) => page.take(progress),
      gone: () => {
        unfollow();
        showLink("ended");
        showProblem({ problem: "This run was removed." });
      },
    },
  });
}

function route() {
  visit += 1;
  unfollow();
  unfollow = () => {};
  if (dialog.open) dialog.close();
  problem.hidden = true;
  window.scrollTo(0, 0);
  const job = fleet && /^#\/fleet\/(.+)$/.exec(location.hash);
  if (job) {
    showJob(visit, named(job[1]));
    return;
  }
  const found = /^#(?:\/project\/([^/]+))?\/?(?:run\/(.+))?$/.exec(location.hash);
  const [key = "", id = ""] = (found ?? []).slice(1).map(named);
  showPage(visit, several && key ? key : "", id);
}

/** A part of an address; empty if it is not one of ours. */
function named(part) {
  try {
    return decodeURIComponent(part ?? "");
  } catch {
    return "";
  }
}

async function showPage(number, key, id) {
  enter(key);
  if (several) {
    settings = several;
    project.textContent = key ? "" : "All projects";
    project.href = key ? projectLink(key) : "#/";
    if (!key) return showOverview(number);
    try {
      const found = await get(`${projectPath(key)}/state`);
      if (number !== visit) return undefined;
      settings = found;
    } catch (error) {
      return number === visit ? showAbsent(error) : undefined;
    }
  }
  project.textContent = settings.project;
  return id ? showRun(number, id, key) : showHome(number, key);
}

/** A project that is not on this page, or cannot be read. */
function showAbsent(error, back = "All projects") {
  if (error.status === 401) return showLink("refused");
  main.drawnFor = "";
  fill(main, h("h1", {}, "Not found"), h("p", { class: "empty" }, error.message), h("p", {}, h("a", { href: "#/" }, back)));
  return showLink("ended");
}

/** Updates the times on the page. */
function tick() {
  const now = Date.now() / 1000;
  for (const element of document.querySelectorAll("[data-until]")) {
    const left = Number(element.dataset.until) - now;
    element.textContent = left > 0 ? ` · ${duration(left)} left` : "";
  }
  for (const element of document.querySelectorAll("[data-since]")) element.textContent = duration(now - Number(element.dataset.since));
  for (const element of document.querySelectorAll(".ago")) element.textContent = ago(Number(element.dataset.at), now);
}

async function begin() {
  try {
    settings = await get("/api/state");
  } catch (error) {
    showProblem({ problem: error.message });
    if (error.status === 401) {
      showLink("refused");
      return;
    }
  }
  if (settings.hasFleet) fleet = new FleetPanel();
  if (settings.projects) several = settings = { ...settings, project: "" };
  document.getElementById("mode").hidden = !settings.readOnly;
  window.addEventListener("hashchange", route);
  setInterval(tick, 1000);
  route();
}

begin();
