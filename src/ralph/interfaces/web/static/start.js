// Starting work, runs and the rest of a run; and the question before anything that cannot be taken back.

import { post, projectPath, runLink, runPath } from "./api.js";
import { button, fill, h, plural } from "./dom.js";

/** Asks, then does it; what is wrong stays in the dialog, to be read. ``more``: what else to fill in. */
export function question(openDialog, { title, words, label, kind = "primary", busy = "One moment…", more = null, act }) {
  const wrong = h("div", { class: "bad", role: "alert" });
  const yes = h("button", { type: "submit", class: kind }, label);
  const answer = async (event) => {
    event.preventDefault();
    yes.disabled = true;
    yes.textContent = busy;
    fill(wrong);
    try {
      await act();
      close();
    } catch (error) {
      fill(wrong, (error.parts ?? [error.message]).map((text) => h("p", {}, text)));
      yes.disabled = false;
      yes.textContent = label;
    }
  };
  const close = openDialog([
    h("h2", { id: "dialog-title" }, title),
    h("form", { onsubmit: answer }, words.map((text) => h("p", {}, text)), more, wrong, h("div", { class: "buttons" }, yes, button("No", () => close()))),
  ]);
  (more?.querySelector("textarea") ?? yes).focus();
}

/** What the page of one project, and that of all, can start. Each leads to its run. */
export class Starts {
  constructor({ openDialog, say }) {
    this.openDialog = openDialog;
    this.say = say;
  }

  async begin(path, content, key) {
    const { run } = await post(path, content);
    this.say(`Run ${run} has begun.`);
    location.hash = runLink(run, key);
  }

  work(project) {
    question(this.openDialog, {
      title: `Start work in ${project.name}?`,
      words: [["This runs ", h("code", {}, "ralph work"), ` on ${plural(project.ready, "task")}, with the project's settings. It keeps running if this page is closed.`]],
      label: "Start work",
      busy: "Starting…",
      act: () => this.begin(`${projectPath(project.key)}/work`, {}, project.key),
    });
  }

  run(project) {
    const text = h("textarea", { id: "prompt-text", rows: "6", required: true, maxlength: "20000" });
    question(this.openDialog, {
      title: `Start a run in ${project.name}`,
      words: [["This runs ", h("code", {}, "ralph run"), " with the project's settings. It keeps running if this page is closed."]],
      more: h("div", {}, h("label", { for: "prompt-text" }, "What should the agent do?"), text),
      label: "Start the run",
      busy: "Starting…",
      act: () => this.begin(`${projectPath(project.key)}/runs`, { prompt: text.value }, project.key),
    });
  }

  resume(run, key) {
    question(this.openDialog, {
      title: "Resume this run?",
      words: [["This runs ", h("code", {}, run.resume), ". It keeps running if this page is closed."]],
      label: "Resume",
      busy: "Starting…",
      act: () => this.begin(`${runPath(run.id, key)}/resume`, {}, key),
    });
  }
}
