// Forms act without leaving the page: a question comes as a dialog, what was
// done is said, and the page looks again.
import { refresh } from "./live.js";

const dialog = () => document.getElementById("ask");

export function interceptForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.dataset.plain !== undefined || form.enctype === "multipart/form-data") return;
    if (["/sign-in", "/set-up", "/sign-out", "/sign-out-everywhere"].includes(form.getAttribute("action"))) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("dialog [data-close]")) { event.preventDefault(); dialog().close(); }
  });
  for (const flash of document.querySelectorAll("[data-flash]")) fade(flash);
}

async function send(form, button) {
  if (form.dataset.sent !== undefined) return; // the second click
  form.dataset.sent = "";
  const before = button || document.activeElement; // a disabled button loses the focus
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((b) => { b.disabled = true; });
  const body = new URLSearchParams(new FormData(form, null));
  if (button && button.name) body.append(button.name, button.value);
  try {
    const action = (button && button.getAttribute("formaction")) || form.getAttribute("action");
    const answer = await fetch(action, { method: "POST", body, headers: { Accept: "text/html" } });
    await took(answer, before);
  } catch {
    say("The gateway did not answer. Nothing may have been done: look before you repeat it.", true);
  } finally {
    delete form.dataset.sent;
    buttons.forEach((b) => { b.disabled = false; });
  }
}

// took shows what an action led to.
async function took(answer, before) {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const question = page.querySelector(".question");
  const standing = document.querySelector("main .question");
  if (question && standing) { // the page is a question itself: no second one over it
    standing.replaceWith(document.adoptNode(question));
    document.dispatchEvent(new CustomEvent("asked"));
    (question.querySelector("[role=alert]") || question).scrollIntoView({ block: "nearest" });
    return;
  }
  if (question) { ask(question, before); return; }
  const failed = page.querySelector("#failure [data-say]");
  if (failed) {
    say(failed.textContent.trim(), true, page.querySelector("#failure a.button"));
    dialog().close();
    refresh();
    return;
  }
  if (!answer.ok) { // not a page of ours: a proxy's, or none
    say(`The answer was ${answer.status}, and not the gateway's. Look before you repeat it.`, true);
    return;
  }
  dialog().close();
  const flash = page.querySelector("[data-flash]");
  const there = new URL(answer.url);
  if (answer.redirected && there.pathname !== location.pathname) {
    if (flash) sessionStorage.setItem("flash", flash.outerHTML);
    location.assign(answer.url);
    return;
  }
  if (flash) put(flash);
  refresh();
}

function ask(question, before) {
  const d = dialog();
  d.replaceChildren(document.adoptNode(question));
  if (!d.open) {
    d.showModal();
    d.addEventListener("close", () => {
      d.replaceChildren();
      if (before && before.isConnected) before.focus();
    }, { once: true });
  }
  document.dispatchEvent(new CustomEvent("asked"));
  (d.querySelector("[data-safe]") || d.querySelector("button"))?.focus();
}

// say puts a sentence where it is read aloud.
export function say(text, bad = false, link = null) {
  const p = document.createElement("div");
  p.className = "flash" + (bad ? " bad" : "");
  p.append(text);
  if (link) p.append(" ", document.adoptNode(link));
  put(p);
}

function put(flash) {
  const news = document.getElementById("news");
  news.replaceChildren(document.adoptNode(flash));
  fade(flash);
}

// fade takes the offer to undo away when it is over.
function fade(flash) {
  const undo = flash.querySelector("form.act");
  if (undo) setTimeout(() => undo.remove(), 5000);
}

const carried = sessionStorage.getItem("flash");
if (carried) {
  sessionStorage.removeItem("flash");
  const page = new DOMParser().parseFromString(carried, "text/html");
  put(page.body.firstElementChild); // a module runs when the page is read
}
