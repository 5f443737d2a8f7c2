// Small pieces of page: elements and numbers. Text from models is only ever set as text.

export const byId = (id) => document.getElementById(id);

export function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
}

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  if (size >= 10000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}

export const percent = (value) => (isNumber(value) ? `${(100 * value).toFixed(1)} %` : "–");

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const clock = (time) => new Date(time * 1000).toLocaleTimeString();
export const day = (time) => new Date(time * 1000).toLocaleString();

export async function fetchJson(path, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) location.assign("/");
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ? body.error.message : response.statusText);
  return body;
}
