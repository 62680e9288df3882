// What a person asks of a run or a job: a note for the agent, and to stop.

import { button, h } from "./dom.js";

/** ``send`` gets the note; the dialog closes if it says that it was taken. */
export function askForNote(openDialog, send) {
  const text = h("textarea", { id: "steer-text", rows: "5", required: true, maxlength: "20000", "aria-describedby": "steer-help" });
  const submit = async (event) => {
    event.preventDefault();
    if (text.value.trim() && (await send(text.value))) close();
  };
  const close = openDialog([
    h("h2", { id: "dialog-title" }, "Add a note for the agent"),
    h("form", { onsubmit: submit }, h("label", { for: "steer-text" }, "Your note"), text, h("p", { id: "steer-help", class: "dim" }, "It goes into the next prompt, once."), h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Send"))),
  ]);
  text.focus();
}

/** ``stop`` and ``stopNow`` (null: it cannot) say whether that was taken. */
export function askToStop(openDialog, { title, words, stop, stopNow }) {
  const end = async (act) => {
    if (await act()) close();
  };
  const close = openDialog([
    h("h2", { id: "dialog-title" }, title),
    h("p", {}, words),
    h("div", { class: "buttons" }, button("After the current step", () => end(stop), "primary"), stopNow && button("Now", () => end(stopNow), "danger")),
  ]);
}
