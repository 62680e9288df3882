// A pull request: what ralph waits for, and how its checks stand. Colour is never alone: each tone has its sign and its words.

import { dim, h } from "./dom.js";
import { TONES } from "./events.js";

const SIGNS = { good: "✓", open: "◔", quiet: "-", warning: "!", bad: "✗" };

const sign = (tone) => h("span", { class: `sign ${TONES[tone]}`, "aria-hidden": "true" }, SIGNS[tone] ?? "·");

/** The server says which addresses may be links: those of http and https alone. */
export const outside = (address, words) => (address ? h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, words) : words);

/** In the row of a run, which is a link itself. */
export const pullMark = (pull) => h("span", { class: "run-pull" }, sign(pull.tone), ` pull request ${pull.name} `, h("span", { class: TONES[pull.tone] }, pull.words), pull.counts && dim(` · ${pull.counts}`));

const check = (each) => h("li", {}, sign(each.tone), h("span", { class: "pull-check" }, outside(each.address, each.name)), h("span", { class: TONES[each.tone] }, each.words));

/** The card of a run's page. */
export function pullRequest(pull) {
  return [
    h("h2", {}, "Pull request ", outside(pull.address, pull.name), " ", h("span", { class: "chip" }, pull.stateWords)),
    h("p", { class: "pull-title" }, pull.title),
    h("p", { class: `why ${TONES[pull.tone]}` }, sign(pull.tone), ` ${pull.said}`),
    pull.hint && h("p", {}, pull.hint),
    h("p", { class: "dim" }, [`${pull.branch} into ${pull.base}`, pull.head, pull.counts].filter(Boolean).join(" · ")),
    !pull.address && pull.url && h("p", { class: "dim" }, pull.url),
    pull.checks.length > 0 && h("ul", { class: "pull-checks" }, pull.checks.map(check)),
    pull.more > 0 && h("p", { class: "dim" }, `and ${pull.more} more`),
    pull.remarks && h("p", { class: "dim" }, pull.remarks),
  ];
}
