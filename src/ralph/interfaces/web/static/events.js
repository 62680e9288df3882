// One event of a run as elements of the stream.

import { clock, compact, dim, duration, h, money, plural } from "./dom.js";
import { markdown } from "./markdown.js";

/** The class for each tone of a decision. */
export const TONES = { good: "good", open: "odd", quiet: "dim", warning: "odd", bad: "bad" };
const MARKS = { pending: "☐", in_progress: "◐", completed: "☑" };

const row = (group, at, ...children) => h("div", { class: `event ${group}` }, h("time", { class: "at", datetime: new Date(at * 1000).toISOString() }, clock(at)), h("div", { class: "body" }, children));

function tool(item) {
  return h("span", { class: "tool" }, h("strong", {}, item.name || "tool"), " ", h("span", { class: "summary" }, item.summary || ""));
}

export const todoList = (items) => h("ul", { class: "todo" }, items.map((item) => h("li", { class: item?.status }, `${MARKS[item?.status] ?? "·"} ${item?.text ?? ""}`)));

function toolEnd(item) {
  const size = item.lines > 1 ? plural(item.lines, "line") : item.chars ? plural(item.chars, "character") : "no output";
  const label = h("summary", {}, h("span", { class: item.is_error ? "bad" : "good" }, item.is_error ? "✗" : "✓"), ` ${item.name || "result"} `, dim(size));
  return item.output ? h("details", { class: "output", open: item.is_error }, label, h("pre", {}, item.output)) : h("div", { class: "output" }, [...label.childNodes]);
}

const ITEMS = {
  text: (item) => item.text.trim() && ["words", markdown(item.text, "text")],
  reasoning: (item) => item.text.trim() && ["thought", h("details", {}, h("summary", { class: "dim" }, "thinking"), markdown(item.text, "dim"))],
  tool_started: (item) => ["tools", tool(item)],
  tool_ended: (item) => ["tools", toolEnd(item)],
  todo_changed: (item) => ["todos", todoList(item.items ?? [])],
  turn_ended: (item) => item.error && ["trouble", h("span", { class: "bad" }, item.error)],
  error_reported: (item) => ["trouble", h("span", { class: "bad" }, item.message)],
  limit_reported: (item) => item.rejected && ["trouble", h("span", { class: "odd" }, `limit reached: ${item.limit || "usage"}`)],
  notice: (item) => ["noise", dim(item.text)],
  noise: (item) => ["noise", dim(item.text)],
};

function acted(event, item) {
  const shown = Object.hasOwn(ITEMS, item.kind) && ITEMS[item.kind](item);
  return shown ? row(`${shown[0]}${item.parent ? " nested" : ""}`, event.at, shown[1]) : null;
}

function check(event, result) {
  const seconds = result.seconds ? ` ${duration(result.seconds)}` : "";
  const lines = result.last_lines ?? [];
  return row(
    "checks",
    event.at,
    h("span", { class: `verdict ${result.verdict}` }, result.verdict),
    ` ${result.name}`,
    dim(`${seconds} ${result.reason ?? ""}`),
    result.verdict !== "passed" && lines.length > 0 && h("pre", {}, lines.join("\n")),
  );
}

/** The record has the beginning of it; the run's folder has all. */
function prompt(data) {
  if (!data.prompt?.trim()) return null;
  const isCut = data.prompt_chars > data.prompt.length;
  return h("details", { class: "prompt" }, h("summary", { class: "dim" }, "prompt"), markdown(data.prompt), isCut && h("p", { class: "dim" }, `Its beginning; ${plural(data.prompt_chars, "character")} in all, in ${data.prompt_file || "the run's folder"}.`));
}

/** ``done: tag response`` */
const claim = (text) => text.replace(/^(\w+): (.*)$/, "$1 ($2)");

function landmark(event) {
  const data = event.data ?? {};
  const say = (group, kind, text) => row(group, event.at, h("span", { class: kind }, text));
  switch (event.kind) {
    case "run_started":
      return row("marks", event.at, h("strong", {}, `Run started: ${data.agent}, profile ${data.profile}`));
    case "iteration_started":
      return h("div", { class: "event marks divider" }, h("h3", {}, `Iteration ${data.iteration}${data.attempt > 1 ? `, attempt ${data.attempt}` : ""}`, dim(data.role ? data.assignment || data.role : "")), prompt(data));
    case "agent_started":
      return data.purpose === "iteration" ? null : say("noise", "dim", `asked the agent: ${data.purpose}`);
    case "agent_ended": {
      const facts = [duration(data.seconds), plural(data.tools ?? 0, "tool")];
      if (data.spend?.cost_usd) facts.push(money(data.spend.cost_usd));
      if (data.exit_code) facts.push(`exit ${data.exit_code}`);
      const fault = data.fault?.reason;
      return row("marks", event.at, dim(`agent ${data.ending}: ${facts.join(", ")}`), fault && h("div", { class: "bad" }, fault), data.stderr && h("pre", {}, data.stderr));
    }
    case "check_started":
    case "action_started":
      return null;
    case "check_ended":
      return check(event, data.result ?? {});
    case "claims_sought":
      return say("checks", data.found?.length ? "" : "dim", data.found?.length ? `the agent claims: ${data.found.map(claim).join(", ")}` : "the agent claims nothing");
    case "action_ended":
      return say("checks", data.ok ? "good" : "bad", `${data.name}: ${data.message ?? ""}`);
    case "iteration_ended":
      return row("marks decision", event.at, h("strong", { class: TONES[event.tone] }, event.words), ` ${data.reason ?? ""}`);
    case "pause_began":
      return row("marks", event.at, h("span", { class: "odd" }, `waiting: ${data.reason} `), h("span", { class: "until", "data-until": data.until }));
    case "run_paused":
      return say("marks", "odd", "paused");
    case "run_unpaused":
      return say("marks", "odd", "continued");
    case "steered":
      return row("marks steered", event.at, h("strong", {}, "Your note: "), data.text);
    case "stop_requested":
      return say("marks", "odd", data.now ? "stopping now" : "stopping after the current step");
    case "processes_ended":
      return say("noise", "odd", `ended leftover processes: ${(data.left_behind ?? []).join(", ")}`);
    case "pull_request_seen":
      return event.words ? row("marks", event.at, "pull request ", h("span", { class: TONES[event.tone] }, event.words)) : say("noise", "dim", "pull request seen");
    case "task_reported":
      return row("marks", event.at, h("strong", { class: data.outcome === "completed" ? "good" : "odd" }, `${data.task} ${data.result}`), ` ${data.title ?? ""}`, data.reason && h("div", { class: "dim" }, data.reason));
    case "warned":
      return say("marks", "odd", data.message);
    case "run_ended": {
      const tokens = data.spend?.usage ? Object.values(data.spend.usage).reduce((sum, each) => sum + (Number(each) || 0), 0) : 0;
      const facts = [plural(data.iterations, "iteration"), duration(data.seconds), money(data.spend?.cost_usd), tokens ? `${compact(tokens)} tokens` : ""].filter(Boolean);
      return row("marks end", event.at, h("strong", { class: data.outcome === "completed" ? "good" : "odd" }, `${event.words || data.outcome}: ${data.reason}`), h("div", { class: "dim" }, facts.join(", ")));
    }
    default:
      return say("noise", "dim", event.kind.replaceAll("_", " "));
  }
}

/** The elements of an event, in order, each with its number; none if it is not worth a line. */
export function eventRows(event) {
  const rows = drawn(event);
  for (const each of rows) each.dataset.seq = event.seq;
  return rows;
}

function drawn(event) {
  if (event.unreadable) return [row("noise", event.at, dim(`an event that cannot be read (${event.kind})`))];
  if (event.kind !== "agent_acted") return [landmark(event)].filter(Boolean);
  const rows = (event.items ?? []).map((item) => acted(event, item)).filter(Boolean);
  if (event.omitted) rows.push(row("noise", event.at, dim(`${plural(event.omitted, "more event")}; the session's log has them all`)));
  return rows;
}

export function lastTodo(events) {
  for (const event of [...events].reverse()) {
    const item = (event.items ?? []).findLast((each) => each.kind === "todo_changed");
    if (item) return item.items ?? [];
  }
  return null;
}
