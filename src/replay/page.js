"use strict";
const { events, texts } = JSON.parse(document.getElementById("data").textContent);
const slider = document.getElementById("at");
const ROWS = 200;
const SAID = 20;
// Events by session, to find those beside.
const streams = new Map();
events.forEach((event, index) => {
  if (!streams.has(event.stream)) streams.set(event.stream, []);
  streams.get(event.stream).push(index);
});
let at = 0;

const part = (name, text, ...children) => {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  element.append(...children);
  return element;
};
const row = (kind, ...cells) => part("tr", null, ...cells.map((cell) => part(kind, cell)));
const table = (heads, rows) => part("table", null, part("thead", null, row("th", ...heads)), part("tbody", null, ...rows));
const isChange = (index) => events[index].before !== events[index].after;
const beside = (step, fits) => {
  const own = streams.get(events[at].stream);
  for (let i = own.indexOf(at) + step; i >= 0 && i < own.length; i += step) if (fits(own[i])) return own[i];
  return at;
};
const steps = {
  first: () => 0, back: () => Math.max(at - 1, 0), forward: () => Math.min(at + 1, events.length - 1),
  last: () => events.length - 1, before: () => beside(-1, () => true), next: () => beside(1, () => true),
  change: () => beside(1, isChange),
};

function draw() {
  const event = events[at];
  slider.value = at;
  document.getElementById("place").textContent = `position ${event.position}, ${at + 1} of ${events.length} events`;
  const told = [
    part("h2", `${event.type.replaceAll("_", " ")}: ${event.stream}`),
    part("p", `${event.at}, its event ${event.sequence}`), part("p", event.told || event.unreadable),
  ];
  if (event.why) told.push(part("p", `Why: ${event.why}`));
  if (event.after) told.push(part("p", event.before === event.after ? `State: ${event.after}` : `State: ${event.before} → ${event.after}`));
  if (event.changed) {
    const rows = event.changed.map((change) => row("td", change.field, change.before ?? "–", change.after ?? "–"));
    told.push(table(["What changed", "Before", "After"], rows));
  }
  for (const owed of event.owed ?? []) told.push(part("p", `Next: ${owed.what} ${owed.at ?? "now"}, ${owed.why}`));
  document.getElementById("event").replaceChildren(...told);
  // What was said in its session until then, the last of it.
  const said = (texts[event.stream] ?? []).filter((message) => !message.at || message.at <= event.at);
  document.getElementById("said").replaceChildren(...(said.length ? [part("h2", `Said until then, the last of ${said.length} messages`)] : []),
    ...said.slice(-SAID).map((message) => part("article", null, part("h3", `${message.role}, line ${message.line}`), part("pre", message.text))));
  // The last event of each session up to here.
  const states = new Map();
  for (let index = at; index >= 0; index -= 1) {
    const { stream, after } = events[index];
    if (after && !states.has(stream)) states.set(stream, index);
  }
  const rows = [...states].slice(0, ROWS).map(([stream, index]) => {
    const drawn = row("td", stream.replace("session:", ""), events[index].after, events[index].sequence, events[index].at);
    if (index === at) drawn.className = "changed";
    return drawn;
  });
  const more = states.size > ROWS ? [part("p", `and ${states.size - ROWS} more, with older events`)] : [];
  const heads = ["Session", "State", "Events", "Last event"];
  document.getElementById("sessions").replaceChildren(part("h2", `${states.size} sessions`), table(heads, rows), ...more);
}

function go(index) { at = index; location.replace(`#${events[at].position}`); draw(); }
slider.addEventListener("input", () => go(Number(slider.value)));
for (const [name, step] of Object.entries(steps)) document.getElementById(name).addEventListener("click", () => go(step()));
if (events.length) {
  slider.max = events.length - 1;
  const asked = events.findIndex((event) => `#${event.position}` === location.hash);
  go(asked < 0 ? events.length - 1 : asked);
}
