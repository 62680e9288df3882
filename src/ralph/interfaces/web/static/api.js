// Talking to the server.

export class Refused extends Error {
  constructor(words, status, hint = "") {
    super([words, hint].filter(Boolean).join(" "));
    this.status = status;
    this.parts = [words, hint].filter(Boolean);
  }
}

async function read(response) {
  const data = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(data.error || `The server said ${response.status}.`, response.status, data.hint);
  return data;
}

/**
 * The token is this tab's alone: a cookie would be sent to the servers of all other ports as well. It comes in the
 * address, from which it is taken out of sight at once; what the address is about stays there.
 */
function takeToken() {
  const given = new URLSearchParams(location.search).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", `/${location.hash || "#/"}`);
  }
  return sessionStorage.getItem("token") ?? "";
}

const token = takeToken();
export const hasToken = token !== "";

/** Begins again with the token of a link that someone pasted; false if there is none in it. */
export function useLink(text) {
  const [, given, about] = /(?:^|token=)([\w-]{16,})(#\S*)?$/.exec(text.trim()) ?? [];
  if (!given) return false;
  sessionStorage.setItem("token", given);
  if (about) history.replaceState(null, "", about);
  location.reload();
  return true;
}

const ask = (path, { headers = {}, ...more } = {}) =>
  fetch(path, { ...more, credentials: "omit", headers: { authorization: `Bearer ${token}`, ...headers } });

export const get = async (path) => read(await ask(path, { headers: { accept: "application/json" } }));

export const post = async (path, content = {}) =>
  read(await ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) }));

export async function download(path, name) {
  const response = await ask(path);
  if (!response.ok) return read(response);
  const address = URL.createObjectURL(await response.blob());
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/**
 * Where several projects share the page, each has its addresses below its key. ``here`` is the project that is open; its
 * key is empty if there is only one.
 */
let here = "";
export const enter = (key) => (here = key);
export const projectPath = (key = here) => (key ? `/api/projects/${encodeURIComponent(key)}` : "/api");
export const projectLink = (key = here) => (key ? `#/project/${encodeURIComponent(key)}` : "#");
export const runPath = (id, key = here) => `${projectPath(key)}/runs/${encodeURIComponent(id)}`;
export const jobPath = (id) => `/api/fleet/jobs/${encodeURIComponent(id)}`;
export const jobLink = (id) => `#/fleet/${encodeURIComponent(id)}`;
export const runLink = (id, key = here) => `${projectLink(key)}/run/${encodeURIComponent(id)}`;

/** Calls ``handle`` for each event of a stream of server-sent events, until it ends. */
async function readEvents(body, handle) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const fields = {};
      for (const line of frame.split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if (fields.data !== undefined) handle(fields);
    }
  }
}

/**
 * Follows the server, and after a break resumes after the last event it saw. If the server refuses the token (a restart
 * gave it another one), we say so, and no longer try: only a new link helps.
 */
export function follow({ run = "", after = 0, path = `${projectPath()}/stream?run=${encodeURIComponent(run)}`, on, onLink }) {
  let last = after;
  let timer = 0;
  let closed = false;
  let current = null; // what ends the connection that is open or being opened
  let isLive = false;
  const open = async () => {
    const mine = new AbortController();
    current = mine;
    isLive = false;
    try {
      const response = await ask(`${path}&after=${last}`, { signal: mine.signal });
      if (!response.ok) await read(response);
      if (current !== mine) return;
      isLive = true;
      onLink("live");
      await readEvents(response.body, ({ id, event, data }) => {
        if (current !== mine) return;
        if (id) last = Number(id) || last;
        on[event]?.(JSON.parse(data));
      });
    } catch (error) {
      if (error.status === 401 && !closed) {
        closed = true;
        onLink("refused");
      }
      // otherwise said below, as any other end of it
    }
    if (closed || current !== mine) return;
    isLive = false;
    onLink("lost");
    timer = setTimeout(open, 2000);
  };
  const wake = () => {
    // A phone that slept may hold a connection that died long ago.
    if (document.visibilityState === "visible" && !isLive && !closed) {
      clearTimeout(timer);
      current?.abort();
      open();
    }
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    current?.abort();
    document.removeEventListener("visibilitychange", wake);
    window.removeEventListener("online", wake);
  };
}
