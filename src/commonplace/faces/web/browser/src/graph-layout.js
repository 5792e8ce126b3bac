// A worker: finds the communities of a graph and the places of its points. Both are worked out once for each state of
// the graph and kept in the browser's database; they are numbers only.
import Graph from "graphology";
import louvain from "graphology-communities-louvain";
import forceAtlas2 from "graphology-layout-forceatlas2";
import noverlap from "graphology-layout-noverlap";
import { neighbours } from "./graph-links.js";

const LARGE = 2000;
const SMALLEST = 8;
const STORE = "layouts";

let rows = [];
let links = [];
let near = [];
let groups = [];
let version = "";

onmessage = async ({ data }) => {
  if (data.src) await load(data.src);
  else postMessage({ id: data.id, view: await view(data) });
};

async function load(src) {
  const data = await (await fetch(src)).json();
  rows = data.nodes;
  links = data.edges;
  version = `${src} ${data.version}`;
  near = neighbours(rows.length, links);
  groups = describe(await kept("communities", communities));
  postMessage({ rows, links, groups, large: rows.length > LARGE });
}

/** The places of the communities, or of some pages by their numbers, with the links among them. */
async function view({ members, key }) {
  const points = members ? members.map((number) => ({ folder: rows[number][2] })) : groups.map((group) => ({ folder: group.folder, weight: group.members.length }));
  const edges = members ? within(members) : between();
  const places = await kept(key, () => placed(points, edges));
  return { edges, places };
}

/** The number of a community for each page. Those with few pages are divided by folder. */
function communities() {
  const graph = graphOf(rows.length, links);
  const labels = louvain(graph, { rng: random() });
  const sizes = new Map();
  for (const label of Object.values(labels)) sizes.set(label, (sizes.get(label) ?? 0) + 1);
  const names = new Map();
  return rows.map(([, , folder], at) => {
    const label = sizes.get(labels[at]) >= SMALLEST ? labels[at] : `folder ${folder}`;
    if (!names.has(label)) names.set(label, names.size);
    return names.get(label);
  });
}

/** A community has the name of its most linked page; its folder and tag are those that most of its pages have. */
function describe(labels) {
  const members = [];
  labels.forEach((label, at) => (members[label] ??= []).push(at));
  return members.map((numbers) => {
    const first = numbers.reduce((best, at) => (near[at].length > near[best].length ? at : best));
    const tags = numbers.flatMap((at) => rows[at][4].split(" ").filter(Boolean));
    return { name: rows[first][0], members: numbers, folder: commonest(numbers.map((at) => rows[at][2])), tag: commonest(tags) };
  });
}

function commonest(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

function within(members) {
  const order = new Map(members.map((number, at) => [number, at]));
  return links.filter(([a, b]) => order.has(a) && order.has(b)).map(([a, b]) => [order.get(a), order.get(b)]);
}

function between() {
  const home = new Int32Array(rows.length);
  groups.forEach((group, at) => group.members.forEach((number) => (home[number] = at)));
  const pairs = new Set();
  for (const [a, b] of links) if (home[a] !== home[b]) pairs.add(Math.min(home[a], home[b]) * groups.length + Math.max(home[a], home[b]));
  return [...pairs].map((pair) => [Math.floor(pair / groups.length), pair % groups.length]);
}

/** Each folder begins as a disc on a spiral; forces move linked points together; then no point covers another. */
function placed(points, edges) {
  const graph = graphOf(points.length, edges);
  const folders = new Map();
  points.forEach(({ folder }, at) => folders.set(folder, [...(folders.get(folder) ?? []), at]));
  const turn = Math.PI * (3 - Math.sqrt(5));
  let area = 0;
  [...folders.values()].sort((a, b) => b.length - a.length).forEach((numbers, place) => {
    area += numbers.length / 2;
    const far = place ? Math.sqrt(area) * 26 : 0;
    numbers.forEach((at, step) => graph.mergeNodeAttributes(at, {
      x: far * Math.cos(place * turn) + 11 * Math.sqrt(step) * Math.cos(step * turn),
      y: far * Math.sin(place * turn) + 11 * Math.sqrt(step) * Math.sin(step * turn),
      size: 2 + Math.sqrt(points[at].weight ?? graph.degree(at)) / 2,
    }));
    area += numbers.length / 2;
  });
  if (points.length > 1) {
    const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: points.length > 400, gravity: 0.3, adjustSizes: points.length <= 400 };
    forceAtlas2.assign(graph, { iterations: Math.max(60, Math.min(300, Math.round(60_000 / points.length))), settings });
    noverlap.assign(graph, { maxIterations: 40, settings: { margin: 2, ratio: 1.2 } });
  }
  return points.map((_, at) => [graph.getNodeAttribute(at, "x"), graph.getNodeAttribute(at, "y")]);
}

function graphOf(count, pairs) {
  const graph = new Graph({ type: "undirected" });
  for (let at = 0; at < count; at++) graph.addNode(at, { x: 0, y: 0 });
  for (const [a, b] of pairs) if (a !== b) graph.mergeEdge(a, b);
  return graph;
}

/** The same numbers each time, so that the same graph has the same picture. */
function random() {
  let state = 1;
  return () => ((state = (state * 48271) % 2147483647) - 1) / 2147483646;
}

/** A value of this state of the graph out of the browser's database, else worked out and put there. */
async function kept(key, compute) {
  const database = await opened().catch(() => null);
  if (!database) return compute();
  const stored = await asked(database.transaction(STORE).objectStore(STORE).get(key)).catch(() => null);
  if (stored?.version === version) return stored.value;
  const value = compute();
  await asked(database.transaction(STORE, "readwrite").objectStore(STORE).put({ version, value }, key)).catch(() => null);
  return value;
}

function opened() {
  const request = indexedDB.open("commonplace-graph", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return asked(request);
}

function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
