// An open page looks again when the server says that something changed; if it
// cannot be told, it asks every few seconds.
import { morph } from "./morph.js";

const pollEvery = 5000, atMost = 1000, settleAfter = 600, quietAfter = 30000, staleAfter = 15000;

let paused = false, pending = false, running = false;
let lastGood = Date.now(), lastLook = 0, streaming = false;

// refresh fetches the page anew and changes what differs.
export async function refresh() {
  if (running) { pending = true; return; }
  running = true;
  lastLook = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { "X-Edigw-Live": "1" }, signal: AbortSignal.timeout(10000) });
    if (answer.status === 401) { location.reload(); return; }
    if (!answer.ok) return;
    show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    good();
  } catch {
    // the sign of age appears by itself
  } finally {
    running = false;
    if (pending) { pending = false; look(); }
  }
}

// show puts another rendering of the page in place of this one.
export function show(page) {
  document.title = page.title;
  morph(document.getElementById("main"), page.getElementById("main"));
  const foot = page.querySelector(".foot");
  if (foot) morph(document.querySelector(".foot"), foot);
  document.dispatchEvent(new CustomEvent("shown"));
}

function good() {
  lastGood = Date.now();
  age();
}

// look refreshes, but not more often than a second.
let later = 0;
function look() {
  if (paused || document.hidden) return;
  const wait = lastLook + atMost - Date.now();
  if (wait <= 0) { refresh(); return; }
  if (!later) later = setTimeout(() => { later = 0; refresh(); }, wait);
}

// changed looks at once, and once more when all has settled: what the server
// keeps for half a second may be from just before.
let settled = 0;
function changed() {
  look();
  clearTimeout(settled);
  settled = setTimeout(look, settleAfter);
}

// age says that a page was not updated.
function age() {
  const sign = document.getElementById("stale");
  const old = !paused && !document.hidden && Date.now() - lastGood > staleAfter;
  document.body.classList.toggle("is-stale", old);
  if (old || paused) {
    const since = new Date(lastGood).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    sign.textContent = paused ? `Paused since ${since}` : `Not updated since ${since}, retrying`;
  }
  sign.hidden = !(old || paused);
}

function listen() {
  const topic = document.body.dataset.topic || "";
  const source = new EventSource("/live" + (topic ? "?topic=" + encodeURIComponent(topic) : ""));
  source.addEventListener("here", () => { streaming = true; good(); });
  source.addEventListener("change", () => { streaming = true; good(); changed(); });
  source.onerror = () => {
    streaming = false;
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, pollEvery); // refused: try anew
  };
}

export function keepUpToDate() {
  if (document.body.dataset.topic === "-" || !document.querySelector(".top")) return;
  listen();
  setInterval(() => {
    if (Date.now() - lastLook >= (streaming ? quietAfter : pollEvery)) look(); // time alone changes states, too
    age();
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { lastGood = Math.max(lastGood, Date.now() - staleAfter + 3000); look(); } });
  const pause = document.querySelector("[data-pause]");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on updating" : "Pause updates";
    if (!paused) look();
    age();
  });
}
