// Routing, what each page shows, and the connection that keeps it up to date.

import { follow, get, hasToken, post, runPath, useLink } from "./api.js";
import { ago, duration, fill, h, keyOf, redraw } from "./dom.js";
import { cardDetail, home } from "./home.js";
import { RunPage } from "./run.js";

const main = document.getElementById("main");
const project = document.getElementById("project");
const crumb = document.getElementById("crumb");
const link = document.getElementById("link");
const problem = document.getElementById("problem");
const said = document.getElementById("said");
const dialog = document.getElementById("dialog");

const SILENCE = 4000; // milliseconds without an answer after which to say what may be wrong

let settings = { readOnly: false, project: "", beginnings: [] };
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
  dialog.showModal();
  return close;
}

dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

async function openCard(item) {
  try {
    const detail = await get(`/api/cards/${item.kind}/${encodeURIComponent(item.id)}`);
    const ask = async (request) => {
      try {
        const { status } = await post(`/api/tasks/${encodeURIComponent(item.id)}/${request}`);
        say(`${item.id} is ${status} now.`);
        close();
      } catch (error) {
        say(error.message, "bad");
      }
    };
    const close = openDialog(cardDetail(detail, settings.readOnly ? null : ask));
  } catch (error) {
    say(error.message, "bad");
  }
}

const title = (...more) => [...more, settings.project, "ralph"].filter(Boolean).join(" – ");

function showHome(number) {
  crumb.textContent = "";
  document.title = title();
  const show = (state) => {
    if (number !== visit) return;
    showProblem(state);
    redraw(main, keyOf(number, state), () => home(state, openCard, settings.beginnings));
    for (const run of state.runs) {
      const since = main.querySelector(`[data-run="${CSS.escape(run.id)}"] .ago`);
      if (since) since.dataset.at = run.activeAt;
    }
    tick();
  };
  unfollow = follow({ on: { state: show }, onLink: showLink });
}

async function showRun(number, id) {
  crumb.textContent = id;
  document.title = title(id);
  let data;
  try {
    data = await get(runPath(id));
  } catch (error) {
    if (number !== visit) return;
    if (error.status === 401) return showLink("refused");
    main.drawnFor = "";
    fill(main, h("h1", {}, "Not found"), h("p", { class: "empty" }, error.message), h("p", {}, h("a", { href: "#/" }, "All runs")));
    showLink("ended");
    return;
  }
  if (number !== visit) return;
  crumb.textContent = data.run.title || id;
  document.title = title(data.run.title || id);
  const page = new RunPage(id, data, { readOnly: settings.readOnly, say, openDialog });
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
  const found = /^#\/run\/(.+)$/.exec(location.hash);
  let id = null;
  try {
    id = found && decodeURIComponent(found[1]);
  } catch {
    // not one of our addresses: the first page
  }
  if (id) showRun(visit, id);
  else showHome(visit);
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
  project.textContent = settings.project;
  document.getElementById("mode").hidden = !settings.readOnly;
  window.addEventListener("hashchange", route);
  setInterval(tick, 1000);
  route();
}

begin();
