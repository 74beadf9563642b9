// Keeps a page current, reads a long conversation window by window, and finds the search box by its key. Every page works
// without it.
"use strict";

// Parts of the page with an id and `data-live` are replaced whenever something was recorded.
const REST = 9;
let source = null;
let renewing = false;
let again = false;

async function renew() {
  if (renewing) { again = true; return; }
  renewing = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live][id]")) {
        const next = fresh.getElementById(part.id);
        const open = [...part.querySelectorAll("details")].map((fold) => fold.open);
        [...next?.querySelectorAll("details") ?? []].forEach((fold, index) => { fold.open = open[index] ?? fold.open; });
        if (next && next.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) part.innerHTML = next.innerHTML;
      }
    }
    document.dispatchEvent(new Event("renewed"));
  } catch { /* the event stream says when nobody answers */ }
  // Most of the time nothing is asked, however dear the page is.
  setTimeout(() => {
    renewing = false;
    if (again) { again = false; renew(); }
  }, REST * (performance.now() - began));
}

function watch() {
  if (source || document.hidden) return;
  source = new EventSource("/live");
  source.addEventListener("changed", renew);
  source.onopen = () => { document.getElementById("lost").hidden = true; };
  source.onerror = () => { document.getElementById("lost").hidden = false; };
}

// A hidden tab does not keep the pages alive.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { source?.close(); source = null; } else { watch(); renew(); }
});
watch();

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  document.getElementById("find").focus();
});

// A conversation: a link at either end leads to the next window. It is followed when it comes into view, and windows
// far away are emptied, keeping their height.
const WINDOWS = 6;

async function fill(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "1";
  let answer;
  try { answer = await fetch(link.dataset.part ?? link.dataset.grow); } catch { delete link.dataset.busy; return; }
  if (!answer.ok) { delete link.dataset.busy; return; }
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  if (link.dataset.grow) {
    // Calls that had no result may have one.
    for (const message of holder.content.querySelectorAll(".message[id]")) {
      const known = document.getElementById(message.id);
      if (known && known.innerHTML !== message.innerHTML) known.innerHTML = message.innerHTML;
      if (known) message.remove();
    }
    // Nothing has come yet: the next question begins at the same line.
    if (!holder.content.querySelector(".message")) { delete link.dataset.busy; return; }
  }
  const earlier = link.dataset.end === "earlier";
  const before = document.documentElement.scrollHeight;
  const parts = [...holder.content.children];
  link.replaceWith(...parts);
  if (earlier) window.scrollBy({ top: document.documentElement.scrollHeight - before, behavior: "instant" });
  for (const part of parts) for (const next of part.matches("[data-part]") ? [part] : part.querySelectorAll("[data-part]")) ends.observe(next);
  thin();
}

const ends = new IntersectionObserver((seen) => {
  for (const entry of seen) if (entry.isIntersecting) fill(entry.target);
}, { rootMargin: "800px" });

const near = new IntersectionObserver((seen) => {
  for (const entry of seen) {
    const part = entry.target;
    if (entry.isIntersecting && part.kept) { part.replaceChildren(...part.kept); part.kept = null; part.style.height = ""; }
  }
}, { rootMargin: "2000px" });

function thin() {
  const windows = [...document.querySelectorAll("section.window")];
  if (windows.length <= WINDOWS) return;
  for (const part of windows) {
    near.observe(part);
    const box = part.getBoundingClientRect();
    const far = box.bottom < -4000 || box.top > innerHeight + 4000;
    if (far && !part.kept && part.childNodes.length) {
      part.style.height = `${box.height}px`;
      part.kept = [...part.childNodes];
      part.replaceChildren();
    }
  }
}

document.querySelector(".hit")?.scrollIntoView({ block: "center", behavior: "instant" });
for (const link of document.querySelectorAll("[data-part]")) ends.observe(link);

// The end of a conversation that goes on: its last link is followed again when something was recorded.
document.addEventListener("renewed", async () => {
  const end = document.querySelector("[data-grow]");
  if (end) fill(end);
});

// A slider shows what it stands for while it moves, and leads there when it is let go.
for (const slider of document.querySelectorAll("input[type=range][data-go]")) {
  const shown = slider.form.querySelector(`output[for="${slider.id}"]`);
  slider.addEventListener("input", () => { if (shown) shown.textContent = `${slider.value} of ${slider.max}`; });
  slider.addEventListener("change", () => { sessionStorage.setItem("slider", slider.id); slider.form.requestSubmit(); });
  // The page it leads to goes on with it, so that arrow keys can move it step by step.
  if (sessionStorage.getItem("slider") === slider.id) { sessionStorage.removeItem("slider"); slider.focus(); }
}
