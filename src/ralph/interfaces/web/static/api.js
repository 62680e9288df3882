// Talking to the server.

export class Refused extends Error {}

async function read(response) {
  const data = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused([data.error || `The server said ${response.status}.`, data.hint].filter(Boolean).join(" "));
  return data;
}

export const get = async (path) => read(await fetch(path, { headers: { accept: "application/json" } }));

export const post = async (path, content = {}) =>
  read(await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) }));

export const runPath = (id) => `/api/runs/${encodeURIComponent(id)}`;

/**
 * Follows the server. The browser reconnects by itself and names the last event it saw. If the server refuses
 * (a restart gave it another token), the browser gives up; we keep trying and say that the link is lost.
 */
export function follow({ run = "", after = 0, on, onLink }) {
  let source = null;
  let last = after;
  let timer = 0;
  let closed = false;
  const open = () => {
    source = new EventSource(`/api/stream?run=${encodeURIComponent(run)}&after=${last}`);
    source.onopen = () => onLink("live");
    source.onerror = () => {
      if (closed) return;
      onLink("lost");
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 3000);
    };
    for (const [name, handler] of Object.entries(on)) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId) last = Number(event.lastEventId) || last;
        handler(JSON.parse(event.data), event);
      });
    }
  };
  const wake = () => {
    // A phone that slept may hold a connection that died long ago.
    if (document.visibilityState === "visible" && source?.readyState !== EventSource.OPEN) {
      clearTimeout(timer);
      source?.close();
      open();
    }
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    source?.close();
    document.removeEventListener("visibilitychange", wake);
    window.removeEventListener("online", wake);
  };
}
