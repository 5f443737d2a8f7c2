// Line charts as inline SVG: one or two series over steps, a cursor that reads the values.

import { isNumber, make, number, percent } from "/dashboard/page.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 170;
const EDGE = { left: 46, right: 12, top: 10, bottom: 20 };

// kind "dots": a series with few points (evaluations), drawn with a mark at each.
export const CHARTS = [
  { title: "Reward", series: [{ name: "mean", of: (row) => row.reward }] },
  {
    title: "Accuracy", share: true,
    series: [
      { name: "training", of: (row) => row.accuracy },
      { name: "held out", from: "evals", kind: "dots", of: (row) => row.accuracy },
    ],
  },
  { title: "Groups without signal", share: true, series: [{ name: "share", of: (row) => row.zero_signal }] },
  { title: "Entropy", series: [{ name: "nats per token", of: (row) => row.entropy }] },
  { title: "KL", series: [{ name: "nats per token", of: (row) => row.kl }] },
  { title: "Clipped", zero: true, series: [{ name: "share of tokens", of: (row) => row.clip_fraction }] },
  { title: "Completion length", series: [{ name: "mean tokens", of: (row) => row.length }] },
  { title: "Truncated", share: true, series: [{ name: "share", of: (row) => row.truncated }] },
  { title: "Speed", zero: true, series: [{ name: "tokens/s", of: (row) => row.tokens_per_s }] },
  { title: "Loss", series: [{ name: "mean", of: (row) => row.loss }] },
  { title: "Gradient norm", zero: true, series: [{ name: "before clipping", of: (row) => row.grad_norm }] },
  {
    title: "Seconds per step", zero: true,
    series: [
      { name: "sampling", of: (row) => row.seconds && row.seconds.rollout },
      { name: "training", of: (row) => row.seconds && row.seconds.train },
    ],
  },
];

function svg(tag, attributes, parent, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

// About four round numbers from low to high.
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((size) => size >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

export class Chart {
  constructor(spec, parent) {
    this.spec = spec;
    this.lines = spec.series.map(() => []);
    this.card = make("section", "chart card");
    const header = make("header");
    const legend = make("span", "legend");
    spec.series.forEach((series, i) => {
      legend.append(make("span", `key ${i ? "two" : ""} ${series.kind || ""}`, series.name));
    });
    this.legend = legend;
    this.tip = make("span", "tip");
    this.tip.hidden = true;
    header.append(make("h2", "", spec.title), legend, this.tip);
    this.picture = document.createElementNS(SVG, "svg");
    this.picture.setAttribute("role", "img");
    this.card.append(header, this.picture);
    parent.append(this.card);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw()).observe(this.card);
  }

  show(rows, evals) {
    this.lines = this.spec.series.map((series) =>
      (series.from === "evals" ? evals : rows)
        .map((row) => ({ x: row.step, y: series.of(row) }))
        .filter((point) => isNumber(point.x) && isNumber(point.y)));
    this.draw();
  }

  value(y) { return this.spec.share ? percent(y) : number(y); }

  // The window onto the data: ranges, and where a value lies on the picture.
  frame() {
    const points = this.lines.flat();
    if (!points.length) return null;
    const width = this.picture.clientWidth || 340;
    const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
    let [x0, x1] = [Math.min(...xs), Math.max(...xs)];
    let [y0, y1] = this.spec.share ? [0, 1] : [Math.min(...ys), Math.max(...ys)];
    if (this.spec.zero || (y0 > 0 && y0 < 0.35 * y1)) y0 = Math.min(0, y0);
    if (x1 === x0) x1 = x0 + 1;
    if (y1 === y0) [y0, y1] = [y0 - (Math.abs(y0) || 1) * 0.1, y1 + (Math.abs(y1) || 1) * 0.1];
    const right = width - EDGE.right, bottom = HEIGHT - EDGE.bottom;
    return {
      width, right, bottom, x0, x1, y0, y1,
      x: (value) => EDGE.left + ((value - x0) / (x1 - x0)) * (right - EDGE.left),
      y: (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - EDGE.top),
    };
  }

  draw() {
    this.picture.replaceChildren();
    const frame = (this.now = this.frame());
    this.picture.setAttribute("viewBox", `0 0 ${this.picture.clientWidth || 340} ${HEIGHT}`);
    if (!frame) {
      svg("text", { x: EDGE.left, y: HEIGHT / 2, class: "nothing" }, this.picture, "Nothing to show yet.");
      return;
    }
    this.drawAxes(frame);
    this.lines.forEach((points, i) => this.drawLine(frame, points, i));
    this.cursor = svg("line", { class: "cursor", y1: EDGE.top, y2: frame.bottom, visibility: "hidden" }, this.picture);
  }

  drawAxes(frame) {
    for (const value of ticks(frame.y0, frame.y1)) {
      const y = frame.y(value);
      svg("line", { class: "grid", x1: EDGE.left, x2: frame.right, y1: y, y2: y }, this.picture);
      const text = this.spec.share ? `${Math.round(100 * value)}%` : number(value);
      svg("text", { x: EDGE.left - 6, y: y + 4, "text-anchor": "end" }, this.picture, text);
    }
    for (const value of ticks(frame.x0, frame.x1).filter(Number.isInteger)) {
      svg("text", { x: frame.x(value), y: HEIGHT - 5, "text-anchor": "middle" }, this.picture, String(value));
    }
  }

  drawLine(frame, points, i) {
    const two = i ? " two" : "";
    const path = points.map((point) => `${frame.x(point.x).toFixed(1)},${frame.y(point.y).toFixed(1)}`);
    svg("polyline", { class: `line${two}`, points: path.join(" ") }, this.picture);
    const marked = this.spec.series[i].kind === "dots" || points.length === 1 ? points : [];
    for (const point of marked) {
      svg("circle", { class: `dot${two}`, cx: frame.x(point.x), cy: frame.y(point.y), r: 3.5 }, this.picture);
    }
  }

  point(event) {
    this.tip.hidden = !event || !this.now;
    this.legend.hidden = !this.tip.hidden;
    if (!this.now) return;
    this.cursor.setAttribute("visibility", event ? "visible" : "hidden");
    if (!event) return;
    const left = event.clientX - this.picture.getBoundingClientRect().left;
    const distance = (point) => Math.abs(this.now.x(point.x) - left);
    const near = this.lines.flat().reduce((a, b) => (distance(b) < distance(a) ? b : a));
    this.cursor.setAttribute("x1", this.now.x(near.x));
    this.cursor.setAttribute("x2", this.now.x(near.x));
    const here = this.lines.map((points, i) => {
      const point = points.find((candidate) => candidate.x === near.x);
      return point && `${this.spec.series.length > 1 ? `${this.spec.series[i].name} ` : ""}${this.value(point.y)}`;
    });
    this.tip.textContent = `step ${near.x}: ${here.filter(Boolean).join(", ")}`;
  }
}
