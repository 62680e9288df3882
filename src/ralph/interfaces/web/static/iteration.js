// One iteration in a list, to be opened: of a run here, or of a job from its record.

import { compact, dim, duration, h, money, plural } from "./dom.js";
import { TONES } from "./events.js";

/** ``more``: what else can be done with it. */
export function iterationRow(each, { open = false, ontoggle = null, more = null } = {}) {
  const dots = each.checks.map((check) => h("span", { class: `dot ${check.verdict}`, title: `${check.name}: ${check.verdict}` }, h("span", { class: "sr" }, `${check.name}: ${check.verdict}. `)));
  return h("details", { class: "iteration", open, ...(ontoggle && { ontoggle }) },
    h("summary", {},
      h("span", { class: "number" }, each.attempt > 1 ? `${each.iteration}.${each.attempt}` : String(each.iteration)),
      h("span", { class: TONES[each.tone] }, each.words),
      each.step && dim(each.step),
      each.denied && h("span", { class: "chip bad", title: "The agent claimed to be done; the checks disagreed." }, "claim denied"),
      h("span", { class: "dots" }, dots),
      h("span", { class: "dim figures" }, [each.seconds ? duration(each.seconds) : "", money(each.cost)].filter(Boolean).join(" · ")),
    ),
    each.reason && h("p", {}, each.reason),
    each.fault && h("p", { class: "bad" }, each.fault),
    each.claims.length > 0 && h("p", {}, `Claimed ${each.claims.join(", ")}`),
    each.checks.map(checkRow),
    each.actions.map((action) => h("p", {}, h("span", { class: action.ok ? "good" : "bad" }, action.name), ` ${action.message}`)),
    h("p", { class: "dim" }, [plural(each.tools, "tool"), each.toolErrors ? `${each.toolErrors} failed` : "", each.tokens ? `${compact(each.tokens)} tokens` : "", each.commit ? `commit ${each.commit}` : ""].filter(Boolean).join(" · ")),
    more,
  );
}

function checkRow(check) {
  const receipt = [check.command === check.name ? "" : check.command, check.exitCode !== null ? `exit ${check.exitCode}` : "", check.seconds ? duration(check.seconds) : "", check.reason, check.required || check.verdict === "skipped" ? "" : "optional"].filter(Boolean);
  return h("div", { class: "check" },
    h("span", { class: `verdict ${check.verdict}` }, check.verdict),
    ` ${check.name} `,
    dim(receipt.join(" · ")),
    check.sha256 && h("div", { class: "dim hash", title: check.sha256 }, `output sha256 ${check.sha256.slice(0, 16)}…`),
    check.verdict !== "passed" && check.lines.length > 0 && h("pre", {}, check.lines.join("\n")),
  );
}
