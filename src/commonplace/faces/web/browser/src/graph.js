// The whole graph, drawn by sigma. A worker finds places and communities; a large graph begins as communities: pages
// that are linked among each other are one point with the name of the most linked page, which opens on a click.
import Graph from "graphology";
import Sigma from "sigma";
import { neighbours } from "./graph-links.js";
import { drawNames } from "./graph-names.js";
import { count, t } from "./messages.js";

const part = (name) => document.getElementById(`_ui-graph${name}`);
const box = part("");
const frame = part("-frame");
const canvas = part("-canvas");
const status = part("-status");
const [find, type, steps, color] = ["-find", "-type", "-steps", "-color"].map(part);
const [from, to, titles, way] = ["-from", "-to", "-titles", "-path"].map(part);
const legend = part("-legend");
const whole = part("-whole");

const PALETTE = ["#4e79a7", "#e08214", "#4d9a47", "#d6494b", "#9c6fa8", "#3f9a94", "#8c6a52", "#b8960c"];
const OTHER = "#8d9299";
const OFFERED = 12;

let data = { rows: [], links: [], groups: [], large: false };
let near = [];
let home = [];
let nodes = [];
let around = [];
let order = [];
let shown = new Set();
let marked = new Set();
let chosen = -1;
let hovered = -1;
let picture = null;
let asked = 0;
const waiting = new Map();

const worker = new Worker(box.dataset.worker);
worker.onmessage = ({ data: message }) => (message.view ? answered(message) : start(message));
worker.postMessage({ src: box.dataset.src });

async function start(message) {
  data = message;
  near = neighbours(data.rows.length, data.links);
  data.groups.forEach((group, at) => group.members.forEach((number) => (home[number] = at)));
  box.hidden = false;
  listen();
  await (data.large ? openCommunities() : openPages(data.rows.map((_, at) => at), "pages"));
}

/** The edges and places of a view; never, if another one was asked for meanwhile. */
function viewOf(request) {
  return new Promise((resolve) => {
    waiting.clear();
    waiting.set(++asked, resolve);
    worker.postMessage({ ...request, id: asked });
  });
}

function answered({ id, view }) {
  waiting.get(id)?.(view);
  waiting.delete(id);
}

/** Shows pages, by their numbers, with the links among them. */
async function openPages(members, key) {
  const view = await viewOf({ members, key });
  nodes = members.map((number) => {
    const [title, url, folder, kind, tags] = data.rows[number];
    return { number, title, url, folder, kind, tags, group: home[number], weight: 0 };
  });
  whole.hidden = !data.large && members.length === data.rows.length;
  draw(view);
}

/** Shows each community as one point. */
async function openCommunities() {
  const view = await viewOf({ key: "places of communities" });
  nodes = data.groups.map((group, at) => ({ title: group.name, folder: group.folder, kind: "", tags: group.tag, group: at, members: group.members, weight: group.members.length }));
  whole.hidden = true;
  draw(view);
}

function openWhole() {
  way.replaceChildren();
  return data.large ? openCommunities() : openPages(data.rows.map((_, at) => at), "pages");
}

function draw({ edges, places }) {
  around = neighbours(nodes.length, edges);
  nodes.forEach((node, at) => (node.weight ||= around[at].length));
  order = nodes.map((_, at) => at).sort((a, b) => nodes[b].weight - nodes[a].weight);
  const graph = new Graph({ type: "undirected" });
  const crowd = Math.min(1, Math.sqrt(250 / nodes.length));
  nodes.forEach((node, at) => {
    node.size = Math.min(node.members ? 4 + Math.sqrt(node.weight) / 2 : (2.5 + Math.sqrt(node.weight)) * crowd, 22);
    graph.addNode(at, { x: places[at][0], y: places[at][1], size: node.size });
  });
  for (const [a, b] of edges) if (a !== b) graph.mergeEdge(a, b);
  chosen = hovered = -1;
  picture?.kill();
  picture = null;
  if (!document.createElement("canvas").getContext("webgl2")) {
    frame.parentElement.hidden = true;
    status.textContent = box.dataset.without;
    return;
  }
  paint();
  shown = new Set(nodes.keys());
  picture = new Sigma(graph, frame, settings(graph));
  picture.on("afterRender", showNames);
  picture.on("clickNode", ({ node }) => choose(Number(node)));
  picture.on("enterNode", ({ node }) => hover(Number(node)));
  picture.on("leaveNode", () => hover(-1));
  filter();
}

function settings(graph) {
  const style = getComputedStyle(document.documentElement);
  return {
    renderLabels: false,
    enableEdgeEvents: false,
    zIndex: true,
    stagePadding: 40,
    minCameraRatio: 0.02,
    maxCameraRatio: 4,
    defaultEdgeColor: style.getPropertyValue("--line").trim(),
    nodeReducer: (node, attributes) => reduced(Number(node), attributes, style.getPropertyValue("--accent").trim()),
    edgeReducer: (edge, attributes) => {
      const [a, b] = graph.extremities(edge).map(Number);
      if (!shown.has(a) || !shown.has(b)) return { ...attributes, hidden: true };
      const lit = chosen >= 0 && (a === chosen || b === chosen);
      return { ...attributes, size: lit ? 1.6 : 0.7, zIndex: lit ? 1 : 0, color: lit ? style.getPropertyValue("--muted").trim() : attributes.color };
    },
  };
}

function reduced(at, attributes, accent) {
  const lit = at === chosen || at === hovered || marked.has(at);
  return { ...attributes, hidden: !shown.has(at), color: lit ? accent : nodes[at].color, zIndex: lit ? 1 : 0 };
}

/** Names of what is pointed at, chosen and found, then of the most linked. */
function showNames() {
  if (!picture) return;
  const first = [hovered, chosen, ...marked].filter((at) => at >= 0);
  const points = [];
  for (const at of new Set([...first, ...order])) {
    if (!shown.has(at)) continue;
    const place = picture.framedGraphToViewport(picture.getNodeDisplayData(String(at)));
    points.push({ title: nodes[at].title, x: place.x, y: place.y, radius: picture.scaleSize(nodes[at].size) });
  }
  drawNames(canvas, points);
}

/** Colors for the largest folders, types or communities, and what they mean. */
function paint() {
  const name = (node) => (color.value === "community" ? data.groups[node.group]?.name : color.value === "type" ? node.kind : node.folder) ?? "";
  const counts = new Map();
  for (const node of nodes) counts.set(name(node), (counts.get(name(node)) ?? 0) + (node.members?.length ?? 1));
  counts.delete("");
  const largest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, PALETTE.length).map(([value]) => value);
  for (const node of nodes) node.color = PALETTE[largest.indexOf(name(node))] ?? OTHER;
  legend.replaceChildren(...largest.map((value, at) => legendRow(value, PALETTE[at])));
  if (largest.length < counts.size) legend.append(legendRow(box.dataset.other, OTHER));
}

function legendRow(value, shade) {
  const row = document.createElement("li");
  const dot = document.createElement("span");
  dot.style.background = shade;
  const label = document.createElement("bdi");
  label.textContent = value;
  row.append(dot, label);
  return row;
}

/** Shows what the fields ask for: of communities those with such pages, of pages those that match and their neighbours. */
function filter() {
  const words = find.value.trim().toLowerCase();
  const matches = (row) => (!type.value || row[3] === type.value) && (!words || `${row[0]} ${row[4]}`.toLowerCase().includes(words));
  let seeds = nodes.map((_, at) => at);
  if (type.value || words) seeds = seeds.filter((at) => (nodes[at].members ?? [nodes[at].number]).some((number) => matches(data.rows[number])));
  if (chosen >= 0 && Number(steps.value)) seeds = [chosen];
  shown = new Set(seeds);
  let edge = seeds;
  for (let step = 0; step < Number(steps.value); step++) {
    const next = [];
    for (const at of edge) for (const other of around[at]) if (!shown.has(other)) { shown.add(other); next.push(other); }
    edge = next;
  }
  say();
  refresh();
  fit();
}

function refresh() {
  picture?.refresh({ skipIndexation: true });
}

/** Moves the camera so that all that is shown fills the frame. */
function fit() {
  if (!picture || !shown.size) return;
  let [left, top, right, bottom] = [1e9, 1e9, -1e9, -1e9];
  for (const at of shown) {
    const { x, y } = picture.getNodeDisplayData(String(at));
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  const camera = picture.getCamera();
  const [zero, unit] = [picture.framedGraphToViewport({ x: 0, y: 0 }), picture.framedGraphToViewport({ x: 1, y: 0 })];
  const pixels = Math.hypot(unit.x - zero.x, unit.y - zero.y) * camera.ratio;
  const { width, height } = picture.getDimensions();
  const ratio = Math.max((right - left) * pixels / Math.max(width - 130, 100), (bottom - top) * pixels / Math.max(height - 70, 100), 0.15);
  camera.setState({ x: (left + right) / 2, y: (top + bottom) / 2, ratio, angle: 0 });
}

function say() {
  const node = nodes[chosen];
  const about = node?.members ? ` (${[t("{n} pages", { n: count(node.members.length) }), node.tags && t("often #{tag}", { tag: node.tags })].filter(Boolean).join(", ")})` : "";
  const all = nodes[0]?.members ? "{shown} of {all} communities of linked pages are shown." : "{shown} of {all} pages are shown.";
  const parts = [t(all, { shown: count(shown.size), all: count(nodes.length) })];
  if (node) parts.push(t("Chosen: {name}; Enter opens it.", { name: node.title + about }));
  status.textContent = parts.join(" ");
}

/** Follows a point: a page is read, a community is opened. */
function follow(at) {
  if (!nodes[at].members) return void (location.href = nodes[at].url);
  find.value = "";
  openPages(nodes[at].members, `community ${at}`);
}

function choose(at) {
  if (at === chosen || nodes[at].members) return follow(at);
  chosen = at;
  if (Number(steps.value)) return filter();
  say();
  refresh();
}

function hover(at) {
  hovered = at;
  frame.style.cursor = at >= 0 ? "pointer" : "grab";
  refresh();
}

/** The pages whose titles contain what is typed, for the fields of a path. */
function offer(event) {
  const words = event.target.value.trim().toLowerCase();
  const rows = words ? data.rows.filter((row) => row[0].toLowerCase().includes(words)).slice(0, OFFERED) : [];
  titles.replaceChildren(...rows.map((row) => new Option("", row[0])));
  const ends = [from, to].map((field) => numberOf(field.value));
  if (ends[0] >= 0 && ends[1] >= 0) showPath(ends[0], ends[1]);
}

function numberOf(title) {
  const wanted = title.trim().toLowerCase();
  return wanted ? data.rows.findIndex((row) => row[0].toLowerCase() === wanted) : -1;
}

/** The shortest path between two pages over links in either direction, as a picture and as a list. */
async function showPath(first, last) {
  const before = new Map([[first, -1]]);
  for (let edge = [first]; edge.length && !before.has(last); ) {
    const next = [];
    for (const at of edge) for (const other of near[at]) if (!before.has(other)) { before.set(other, at); next.push(other); }
    edge = next;
  }
  const path = [];
  for (let at = before.has(last) ? last : -1; at >= 0; at = before.get(at)) path.unshift(at);
  way.replaceChildren(...path.map((number) => {
    const row = document.createElement("li");
    const link = document.createElement("a");
    link.href = data.rows[number][1];
    link.dir = "auto";
    link.textContent = data.rows[number][0];
    row.append(link);
    return row;
  }));
  if (!path.length) return void (status.textContent = box.dataset.unlinked);
  find.value = type.value = "";
  steps.value = "0";
  await openPages(path, `path ${path.join(" ")}`);
}

function listen() {
  whole.addEventListener("click", openWhole);
  part("-form").addEventListener("submit", (event) => event.preventDefault());
  for (const field of [find, type, steps]) field.addEventListener("input", filter);
  color.addEventListener("input", () => { paint(); refresh(); });
  for (const field of [from, to]) field.addEventListener("input", offer);
  const recolor = () => { picture?.setSettings(settings(picture.getGraph())); refresh(); };
  document.addEventListener("_ui-theme", recolor);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  frame.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }));
  canvas.addEventListener("keydown", (event) => { if (pressed(event.key)) event.preventDefault(); });
}

/** Moves, zooms, chooses the next point or opens it; whether the key has a meaning. */
function pressed(key) {
  if (!picture) return false;
  const camera = picture.getCamera();
  const far = camera.ratio / 12;
  const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
  if (moves[key]) camera.setState({ x: camera.x + moves[key][0], y: camera.y + moves[key][1] });
  else if (key === "+" || key === "-") camera.setState({ ratio: camera.getBoundedRatio(camera.ratio * (key === "+" ? 1 / 1.2 : 1.2)) });
  else if (key === "Enter" && chosen >= 0) follow(chosen);
  else if (key === "n") {
    const every = order.filter((at) => shown.has(at));
    chosen = every[(every.indexOf(chosen) + 1) % every.length] ?? -1;
    say();
    refresh();
  } else return false;
  return true;
}
