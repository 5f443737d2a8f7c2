// Two views of one page: all runs, and one run (#run-id) that follows the run's events.

import { CHARTS, Chart } from "/dashboard/charts.js";
import { byId, clock, day, duration, fetchJson, isNumber, make, number, percent } from "/dashboard/page.js";

const ENDED = ["succeeded", "failed", "cancelled"];
const SHOWN_GROUPS = 12;
let shown = null; // the RunPage on screen
let listTimer = 0;

function say(text, lost = false) {
  byId("link").textContent = text;
  byId("link").classList.toggle("lost", lost);
}

// ---- all runs

async function refreshList() {
  clearTimeout(listTimer);
  try {
    const { runs } = await fetchJson("/runs");
    byId("runs").replaceChildren(...runs.map(runCard));
    byId("none").hidden = runs.length > 0;
    say("");
  } catch (error) {
    say(`The trainer does not answer: ${error.message}`, true);
  }
  if (!shown) listTimer = setTimeout(refreshList, 2000);
}

function runCard(run) {
  const card = make("a", "card");
  card.href = `#${run.run_id}`;
  const name = make("div");
  name.append(make("div", "name", run.run_id), make("div", "small", `${run.algorithm} · ${run.task} · ${run.model}`));
  const metric = make("div", "small metric", accuracies(run));
  const state = make("div", "right");
  state.append(make("span", `state ${run.state}`, run.state), make("div", "small", `step ${run.step} of ${run.steps}`));
  card.append(name, metric, state);
  if (run.state === "failed" && run.reason) card.append(make("div", "reason", run.reason.split("\n")[0]));
  return card;
}

function accuracies(run) {
  const versions = Object.keys(run.eval).map(Number).sort((a, b) => a - b);
  if (!versions.length) return "";
  const [first, last] = [versions[0], versions.at(-1)].map((version) => percent(run.eval[version]));
  return versions.length > 1 ? `held out ${first} → ${last}` : `held out ${first}`;
}

// ---- one run

class RunPage {
  constructor(runId) {
    this.id = runId;
    this.rows = new Map();
    this.evals = new Map();
    byId("charts").replaceChildren();
    this.charts = CHARTS.map((spec) => new Chart(spec, byId("charts")));
    byId("log").replaceChildren();
    byId("samples").replaceChildren();
    byId("step").replaceChildren();
    this.followsNewest = true;
    this.busy = false;
    this.dirty = false;
  }

  path(rest = "") { return `/runs/${encodeURIComponent(this.id)}${rest}`; }

  async open() {
    await this.refresh();
    this.stream = new EventSource(this.path("/events"));
    for (const kind of ["state", "step", "eval", "waiting", "log"]) {
      this.stream.addEventListener(kind, (event) => this.hear(JSON.parse(event.data)));
    }
    this.stream.onopen = () => say("live");
    this.stream.onerror = () => {
      if (this.run && ENDED.includes(this.run.state)) {
        this.stream.close();
        say("");
      } else say("Connection lost; trying again.", true);
    };
  }

  close() {
    this.closed = true;
    if (this.stream) this.stream.close();
  }

  // Events say that something is new; what it is, is asked for: many events, one question.
  hear(event) {
    if (event.type === "eval" && isNumber(event.data.version)) {
      this.evals.set(event.data.version, { ...event.data, step: event.data.version });
    }
    this.note(event);
    this.refresh();
  }

  async refresh() {
    this.dirty = true;
    if (this.busy) return;
    this.busy = true;
    while (this.dirty && !this.closed) {
      this.dirty = false;
      try {
        await this.load();
      } catch (error) {
        say(error.message, true);
      }
    }
    this.busy = false;
  }

  async load() {
    const run = await fetchJson(this.path());
    const newest = Math.max(-1, ...this.rows.keys());
    // A crash takes the run back to its last commit: rows that are gone must go here too.
    if (run.step < newest) this.rows.clear();
    let since = Math.max(-1, ...this.rows.keys()), page;
    do {
      page = (await fetchJson(this.path(`/metrics?since=${since}`))).rows;
      for (const row of page) this.rows.set(row.step, row);
      since = Math.max(since, ...this.rows.keys());
    } while (page.length >= 10000);
    if (this.closed) return;
    for (const [version, accuracy] of Object.entries(run.eval)) {
      if (!this.evals.has(Number(version))) this.evals.set(Number(version), { step: Number(version), accuracy });
    }
    this.run = run;
    this.show();
    await this.listSteps();
  }

  show() {
    const run = this.run;
    document.title = `${run.state} ${run.step}/${run.steps} · ${run.name}`;
    byId("title").replaceChildren(run.run_id, make("span", `state ${run.state}`, run.state));
    byId("facts").textContent = this.facts();
    byId("progress").style.width = `${(100 * run.step) / run.steps}%`;
    this.showNotice();
    byId("pause").hidden = !["queued", "starting", "running"].includes(run.state);
    byId("resume").hidden = run.state !== "paused";
    byId("cancel").hidden = ENDED.includes(run.state);
    this.showNumbers();
    const inOrder = (map) => [...map.values()].sort((a, b) => a.step - b.step);
    const rows = inOrder(this.rows), evals = inOrder(this.evals);
    for (const chart of this.charts) chart.show(rows, evals);
  }

  facts() {
    const run = this.run, parts = [run.algorithm, run.task, run.model, `created ${day(run.created_at)}`];
    if (run.started_at) {
      parts.push(`${run.ended_at ? "took" : "for"} ${duration((run.ended_at || Date.now() / 1000) - run.started_at)}`);
    }
    if (run.restarts) parts.push(`learner restarted ${run.restarts} ×`);
    return parts.join(" · ");
  }

  showNotice() {
    const run = this.run, failed = run.state === "failed";
    const text = run.waiting_for ? `Waiting for ${run.waiting_for}` : run.reason || "";
    byId("notice").textContent = text;
    byId("notice").hidden = !text;
    byId("notice").classList.toggle("bad", failed);
  }

  showNumbers() {
    const last = this.run.metrics;
    const versions = [...this.evals.keys()].sort((a, b) => a - b);
    const heldOut = versions.map((version) => percent(this.evals.get(version).accuracy));
    const numbers = [
      ["step", `${this.run.step} / ${this.run.steps}`],
      ["reward", number(last.reward)],
      ["held-out accuracy", heldOut.length ? heldOut.at(-1) : "–"],
      ["at the start", heldOut.length ? heldOut[0] : "–"],
      ["without signal", percent(last.zero_signal)],
      ["tokens/s", number(last.tokens_per_s)],
      ["s per step", number((last.seconds || {}).step)],
    ];
    byId("numbers").replaceChildren(...numbers.map(([label, value]) => {
      const box = make("div", "card");
      box.append(make("div", "value", value), make("div", "label", label));
      return box;
    }));
  }

  note(event) {
    const { type, data } = event;
    const text = {
      state: () => `${data.state}${data.reason ? `: ${data.reason}` : ""}`,
      eval: () => `version ${data.version}: held-out accuracy ${percent(data.accuracy)}`,
      waiting: () => (data.for ? `waiting for ${data.for}` : "waiting no more"),
      log: () => data.message,
    }[type];
    if (!text) return;
    const line = make("li");
    line.append(make("time", "", clock(event.time)), document.createTextNode(String(text() ?? "")));
    byId("log").prepend(line);
  }

  // ---- completions

  steps() {
    const of = byId("purpose").value === "eval" ? this.evals : this.rows;
    return [...of.keys()].sort((a, b) => a - b);
  }

  async listSteps() {
    const select = byId("step"), steps = this.steps();
    const word = byId("purpose").value === "eval" ? "version" : "step";
    const chosen = this.followsNewest ? steps.at(-1) : Number(select.value);
    if (select.dataset.of !== `${word}${steps.join()}`) {
      select.replaceChildren(...steps.map((step) => new Option(`${word} ${step}`, step)));
      select.dataset.of = `${word}${steps.join()}`;
    }
    if (chosen === undefined) return byId("samples").replaceChildren(make("p", "quiet", "None yet."));
    select.value = chosen;
    await this.showSamples();
  }

  async showSamples() {
    const steps = this.steps(), step = Number(byId("step").value), purpose = byId("purpose").value;
    byId("earlier").disabled = step === steps[0];
    byId("later").disabled = step === steps.at(-1);
    if (this.samplesOf === `${purpose}${step}` ) return;
    const { rows } = await fetchJson(this.path(`/completions?step=${step}&purpose=${purpose}`));
    if (this.closed || Number(byId("step").value) !== step) return;
    const groups = new Map();
    for (const row of rows) groups.set(row.group_id, [...(groups.get(row.group_id) || []), row]);
    const cards = [...groups.values()].slice(0, SHOWN_GROUPS).map(groupCard);
    if (groups.size > cards.length) cards.push(make("p", "quiet small", `${groups.size - cards.length} more in completions.jsonl.`));
    if (!cards.length) cards.push(make("p", "quiet", "None."));
    byId("samples").replaceChildren(...cards);
    this.samplesOf = `${purpose}${step}`;
  }
}

function groupCard(rows) {
  const group = make("div", "group"), first = rows[0];
  group.append(make("div", "prompt", String(first.prompt ?? "")));
  if (first.ground_truth !== null && first.ground_truth !== undefined) {
    const truth = typeof first.ground_truth === "string" ? first.ground_truth : JSON.stringify(first.ground_truth);
    group.append(make("div", "truth", `expected: ${truth}`));
  }
  for (const row of rows) {
    const line = make("div", "completion");
    const tone = row.score > 0 ? "good" : row.score === null ? "" : "bad";
    line.append(
      make("span", `score ${tone}`, isNumber(row.score) ? number(row.score) : "–"),
      make("span", "quiet small", [row.verdict, row.finish_reason === "length" ? "cut off" : ""].filter(Boolean).join(", ")),
      make("span", "text mono", String(row.completion ?? "")),
    );
    group.append(line);
  }
  return group;
}

// ---- what people do

async function steer(verb) {
  if (verb === "cancel" && !confirm("Cancel this run for good?")) return;
  const page = shown;
  try {
    await fetchJson(page.path(`/${verb}`), { method: "POST" });
    say(`Asked the run to ${verb}.`);
  } catch (error) {
    say(error.message, true);
  }
  page.refresh();
}

for (const verb of ["pause", "resume", "cancel"]) byId(verb).addEventListener("click", () => steer(verb));

function pick(change) {
  const steps = shown.steps();
  const at = steps.indexOf(Number(byId("step").value)) + change;
  if (at < 0 || at >= steps.length) return;
  byId("step").value = steps[at];
  shown.followsNewest = at === steps.length - 1;
  shown.showSamples();
}

byId("earlier").addEventListener("click", () => pick(-1));
byId("later").addEventListener("click", () => pick(1));
byId("step").addEventListener("change", () => pick(0));
byId("purpose").addEventListener("change", () => {
  shown.followsNewest = true;
  shown.listSteps();
});
byId("config").addEventListener("toggle", async () => {
  if (!byId("config").open || !shown) return;
  const response = await fetch(shown.path("/config"), { headers: { Accept: "application/yaml" } });
  byId("yaml").textContent = await response.text();
});

function route() {
  const runId = decodeURIComponent(location.hash.slice(1));
  if (shown) shown.close();
  shown = runId ? new RunPage(runId) : null;
  byId("list").hidden = Boolean(shown);
  byId("run").hidden = !shown;
  byId("config").open = false;
  say("");
  if (shown) shown.open();
  else {
    document.title = "Cohort";
    refreshList();
  }
}

addEventListener("hashchange", route);
route();
