// The whole graph on a canvas: folders give the first places, forces move them. A large graph begins as communities:
// pages that are linked among each other are one point with the name of the most linked page, which opens on a click.

const box = document.getElementById("ui-graph");
const canvas = document.getElementById("ui-graph-canvas");
const status = document.getElementById("ui-graph-status");
const context = canvas.getContext("2d");
const find = document.getElementById("ui-graph-find");
const type = document.getElementById("ui-graph-type");
const steps = document.getElementById("ui-graph-steps");

const legend = document.getElementById("ui-graph-legend");
const whole = document.getElementById("ui-graph-whole");

const NAME_ROOM = 120;
const LARGE = 2000;
const ROUNDS = 8;
const COLORS = 8;

let rows = [];
let links = [];
let groups = [];
let nodes = [];
let edges = [];
let around = [];
let shown = new Set();
let scale = 1;
let ratio = 1;
let offset = { x: 0, y: 0 };
let hovered = -1;
let chosen = -1;
let frame = 0;
let heat = 1;
let touched = false;

start();

async function start() {
  const response = await fetch(box.dataset.src);
  const data = await response.json();
  rows = data.nodes;
  links = data.edges;
  groups = rows.length > LARGE ? communities() : [];
  box.hidden = false;
  if (groups.length) openCommunities();
  else openPages(rows.map((_, at) => at));
  whole.addEventListener("click", () => { openCommunities(); size(); filter(); });
  document.getElementById("ui-graph-form").addEventListener("submit", (event) => event.preventDefault());
  for (const field of [find, type, steps]) field.addEventListener("input", filter);
  listen();
  addEventListener("resize", () => { size(); fit(); schedule(); });
  size();
  filter();
}

/** As many points of the canvas as it has on the screen, so that names stay readable and sharp. */
function size() {
  ratio = devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
}

/** Shows pages, by their numbers, with the links among them. */
function openPages(numbers) {
  const places = new Map(numbers.map((number, at) => [number, at]));
  nodes = [];
  place(numbers.map((number) => rows[number]));
  connect(links.filter(([a, b]) => places.has(a) && places.has(b)).map(([a, b]) => [places.get(a), places.get(b)]));
  whole.hidden = !groups.length;
}

/** Shows each community as one point. */
function openCommunities() {
  const home = new Map(groups.flatMap((group, at) => group.members.map((number) => [number, at])));
  nodes = [];
  place(groups.map((group) => [group.name, "", group.folder, "", group.tag]));
  nodes.forEach((node) => (node.members = groups.find((group) => group.name === node.title).members));
  const order = new Map(nodes.map((node, at) => [node.title, at]));
  const pairs = new Set();
  for (const [a, b] of links) {
    const [from, to] = [home.get(a), home.get(b)];
    if (from === undefined || to === undefined || from === to) continue;
    const ends = [order.get(groups[from].name), order.get(groups[to].name)].sort((x, y) => x - y);
    pairs.add(ends.join(" "));
  }
  connect([...pairs].map((pair) => pair.split(" ").map(Number)));
  whole.hidden = true;
}

function connect(pairs) {
  edges = pairs;
  around = nodes.map(() => []);
  for (const [a, b] of edges) {
    around[a].push(b);
    around[b].push(a);
  }
  nodes.forEach((node, at) => (node.size = node.members ? 4 + Math.sqrt(node.members.length) / 2 : 2 + Math.sqrt(around[at].length)));
  chosen = hovered = -1;
  explain();
}

/** Label propagation: each page joins the community that most of its neighbours are in; small ones stay by folder. */
function communities() {
  const near = rows.map(() => []);
  for (const [a, b] of links) {
    near[a].push(b);
    near[b].push(a);
  }
  const label = rows.map((_, at) => at);
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < rows.length; at++) {
      const counts = new Map();
      for (const other of near[at]) counts.set(label[other], (counts.get(label[other]) ?? 0) + 1);
      let best = label[at];
      for (const [name, count] of counts) if (count > (counts.get(best) ?? 0) || (count === counts.get(best) && name < best)) best = name;
      label[at] = best;
    }
  }
  const sizes = new Map();
  for (const one of label) sizes.set(one, (sizes.get(one) ?? 0) + 1);
  const members = new Map();
  label.forEach((one, at) => {
    const key = sizes.get(one) >= 8 ? one : `folder ${rows[at][2]}`;
    if (!members.has(key)) members.set(key, []);
    members.get(key).push(at);
  });
  const names = new Set();
  return [...members.values()].map((numbers) => describe(numbers, near, names));
}

/** A community has the name of its most linked page; its folder and tag are those that most of its pages have. */
function describe(numbers, near, names) {
  const first = numbers.reduce((best, at) => (near[at].length > near[best].length ? at : best));
  let name = rows[first][0];
  while (names.has(name)) name += "′";
  names.add(name);
  const commonest = (values) => {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  };
  const tags = numbers.flatMap((at) => rows[at][4].split(" ").filter(Boolean));
  return { name, members: numbers, folder: commonest(numbers.map((at) => rows[at][2])), tag: commonest(tags) };
}

/** The colors of the largest folders. */
function explain() {
  const counts = new Map();
  for (const node of nodes) if (node.folder) counts.set(node.folder, (counts.get(node.folder) ?? 0) + (node.members?.length ?? 1));
  const largest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLORS);
  legend.replaceChildren(...largest.map(([folder]) => {
    const row = document.createElement("li");
    const dot = document.createElement("span");
    dot.style.background = `hsl(${nodes.find((node) => node.folder === folder).hue} 45% 50%)`;
    const name = document.createElement("bdi");
    name.textContent = folder;
    row.append(dot, name);
    return row;
  }));
}

/** The first places: each folder a disc on a spiral, its pages a spiral in it. */
function place(shownRows) {
  const folders = new Map();
  const turn = Math.PI * (3 - Math.sqrt(5));
  for (const [title, url, folder, kind, tags] of shownRows) {
    if (!folders.has(folder)) folders.set(folder, []);
    const node = { title, url, folder, kind, tags, x: 0, y: 0, vx: 0, vy: 0 };
    folders.get(folder).push(node);
    nodes.push(node);
  }
  let area = 0;
  [...folders.values()].sort((a, b) => b.length - a.length).forEach((members, number) => {
    area += members.length / 2;
    const far = Math.sqrt(area) * 26;
    const cx = number ? far * Math.cos(number * turn) : 0;
    const cy = number ? far * Math.sin(number * turn) : 0;
    members.forEach((node, at) => {
      node.x = cx + 11 * Math.sqrt(at) * Math.cos(at * turn);
      node.y = cy + 11 * Math.sqrt(at) * Math.sin(at * turn);
      node.hue = (number * 67) % 360;
    });
    area += members.length / 2;
  });
}

function filter() {
  const words = find.value.trim().toLowerCase();
  let seeds = nodes.map((_, at) => at).filter((at) => !type.value || nodes[at].kind === type.value);
  if (words) seeds = seeds.filter((at) => `${nodes[at].title} ${nodes[at].tags}`.toLowerCase().includes(words));
  if (chosen >= 0 && Number(steps.value)) seeds = [chosen];
  shown = new Set(seeds);
  let edge = seeds;
  for (let step = 0; step < Number(steps.value); step++) {
    const next = [];
    for (const at of edge) for (const other of around[at]) if (!shown.has(other)) { shown.add(other); next.push(other); }
    edge = next;
  }
  touched = false;
  fit();
  heat = 1;
  say();
  schedule();
}

function say() {
  const one = nodes[chosen];
  const about = one?.members ? ` (${one.members.length.toLocaleString("en")} pages${one.tags ? `, often #${one.tags}` : ""})` : "";
  const name = one ? ` Chosen: ${one.title}${about}; Enter opens it.` : "";
  const noun = nodes[0]?.members ? "communities of linked pages" : "pages";
  status.textContent = `${shown.size.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} ${noun} are shown.${name}`;
}

function fit() {
  let [left, top, right, bottom] = [1e9, 1e9, -1e9, -1e9];
  for (const at of shown) {
    const { x, y } = nodes[at];
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  if (left > right) return;
  const [wide, high] = [canvas.width - NAME_ROOM * ratio, canvas.height - 60 * ratio];
  scale = Math.min(wide / Math.max(right - left, 1), high / Math.max(bottom - top, 1), 2.5 * ratio);
  offset = { x: canvas.width / 2 - (left + right) / 2 * scale, y: canvas.height / 2 - (top + bottom) / 2 * scale };
}

function schedule() {
  if (!frame) frame = requestAnimationFrame(step);
}

/** One step of the forces, for as many pages as a frame can move. */
function step() {
  frame = 0;
  if (heat > 0.02 && shown.size <= 1500) {
    push();
    heat *= 0.97;
    if (!touched) fit();
    schedule();
  }
  draw();
}

function push() {
  // Few points all push each other; of many, only those that are near.
  const cell = shown.size <= 300 ? 1e6 : 60;
  const force = shown.size <= 300 ? 60 : 14;
  const grid = new Map();
  for (const at of shown) {
    const key = `${Math.floor(nodes[at].x / cell)},${Math.floor(nodes[at].y / cell)}`;
    if (!grid.has(key)) grid.set(key, []);
    grid.get(key).push(at);
  }
  for (const at of shown) {
    const one = nodes[at];
    const [gx, gy] = [Math.floor(one.x / cell), Math.floor(one.y / cell)];
    for (let dx = -1; dx <= 1; dx++) for (let dy = -1; dy <= 1; dy++) for (const other of grid.get(`${gx + dx},${gy + dy}`) ?? []) {
      if (other === at) continue;
      const x = one.x - nodes[other].x;
      const y = one.y - nodes[other].y;
      const near = Math.max(x * x + y * y, 25);
      one.vx += (x / near) * force;
      one.vy += (y / near) * force;
    }
  }
  for (const [a, b] of edges) {
    if (!shown.has(a) || !shown.has(b)) continue;
    const x = nodes[b].x - nodes[a].x;
    const y = nodes[b].y - nodes[a].y;
    const pull = 0.02 * (1 - 45 / Math.max(Math.hypot(x, y), 45));
    nodes[a].vx += x * pull; nodes[a].vy += y * pull;
    nodes[b].vx -= x * pull; nodes[b].vy -= y * pull;
  }
  for (const at of shown) {
    const one = nodes[at];
    one.x += Math.max(-20, Math.min(20, one.vx * heat));
    one.y += Math.max(-20, Math.min(20, one.vy * heat));
    one.vx *= 0.6;
    one.vy *= 0.6;
  }
}

function draw() {
  const style = getComputedStyle(document.documentElement);
  const [ink, line, accent, muted] = ["--ink", "--line", "--accent", "--muted"].map((name) => style.getPropertyValue(name));
  const dark = style.colorScheme === "dark" || (style.colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, offset.x, offset.y);
  context.lineWidth = 0.7 * ratio / scale;
  context.strokeStyle = line;
  context.beginPath();
  for (const [a, b] of edges) {
    if (!shown.has(a) || !shown.has(b)) continue;
    context.moveTo(nodes[a].x, nodes[a].y);
    context.lineTo(nodes[b].x, nodes[b].y);
  }
  context.stroke();
  for (const at of shown) {
    const node = nodes[at];
    context.fillStyle = at === chosen || at === hovered ? accent : `hsl(${node.hue} 45% ${dark ? 65 : 42}%)`;
    context.beginPath();
    context.arc(node.x, node.y, node.size * ratio / scale, 0, 7);
    context.fill();
  }
  drawNames(ink, style.getPropertyValue("--paper"));
}

/** Names, those of the most linked first, where no other name is; so zooming in shows more of them. */
function drawNames(ink, paper) {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.font = `${12 * ratio}px sans-serif`;
  context.textAlign = "center";
  const weight = (at) => nodes[at].members?.length ?? around[at].length;
  const order = [...shown].sort((a, b) => weight(b) - weight(a));
  const taken = [];
  for (const at of new Set([...[hovered, chosen].filter((one) => one >= 0), ...order])) {
    if (!shown.has(at)) continue;
    const name = nodes[at].title.length > 40 ? `${nodes[at].title.slice(0, 39)}…` : nodes[at].title;
    const x = nodes[at].x * scale + offset.x;
    const y = nodes[at].y * scale + offset.y - (nodes[at].size + 5) * ratio;
    if (x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
    const half = context.measureText(name).width / 2 + 4 * ratio;
    const box = [Math.max(x, half) - half, y - 13 * ratio, Math.max(x, half) + half, y + 4 * ratio];
    if (taken.some((one) => one[0] < box[2] && box[0] < one[2] && one[1] < box[3] && box[1] < one[3])) continue;
    taken.push(box);
    context.strokeStyle = paper;
    context.lineWidth = 3 * ratio;
    context.strokeText(name, (box[0] + box[2]) / 2, y);
    context.fillStyle = ink;
    context.fillText(name, (box[0] + box[2]) / 2, y);
    if (taken.length >= 150) break;
  }
  canvas.dataset.names = String(taken.length);
}

/** Follows a point: a page is read, a community is opened. */
function follow(at) {
  if (!nodes[at].members) return void (location.href = nodes[at].url);
  openPages(nodes[at].members);
  filter();
}

function at(event) {
  const x = (event.offsetX * ratio - offset.x) / scale;
  const y = (event.offsetY * ratio - offset.y) / scale;
  let best = -1;
  let least = (14 * ratio / scale) ** 2;
  for (const one of shown) {
    const far = (nodes[one].x - x) ** 2 + (nodes[one].y - y) ** 2;
    if (far < least) { least = far; best = one; }
  }
  return best;
}

function listen() {
  let held = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => { held = { x: event.offsetX, y: event.offsetY }; moved = false; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      touched = true;
      offset.x += (event.offsetX - held.x) * ratio;
      offset.y += (event.offsetY - held.y) * ratio;
      moved = moved || Math.hypot(event.offsetX - held.x, event.offsetY - held.y) > 3;
      held = { x: event.offsetX, y: event.offsetY };
    } else hovered = at(event);
    canvas.style.cursor = hovered >= 0 ? "pointer" : "grab";
    schedule();
  });
  canvas.addEventListener("pointerup", (event) => {
    held = null;
    const found = at(event);
    if (moved || found < 0) return;
    if (found === chosen || nodes[found].members) return follow(found);
    chosen = found;
    if (Number(steps.value)) filter();
    say();
    schedule();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.offsetX * ratio, event.offsetY * ratio);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) { offset.x += moves[event.key][0]; offset.y += moves[event.key][1]; }
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.2 : 1 / 1.2, canvas.width / 2, canvas.height / 2);
    else if (event.key === "Enter" && chosen >= 0) return follow(chosen);
    else if (event.key === "n") { const all = [...shown]; chosen = all[(all.indexOf(chosen) + 1) % all.length]; say(); }
    else return;
    event.preventDefault();
    schedule();
  });
  document.addEventListener("ui-theme", schedule);
}

function zoom(factor, x, y) {
  touched = true;
  const next = Math.min(Math.max(scale * factor, 0.02), 12);
  offset.x = x - (x - offset.x) * next / scale;
  offset.y = y - (y - offset.y) * next / scale;
  scale = next;
  schedule();
}
