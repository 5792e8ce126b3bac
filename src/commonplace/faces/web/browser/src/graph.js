// The whole graph on a canvas: folders give the first places, forces move them, ten thousand points stay usable.

const box = document.getElementById("ui-graph");
const canvas = document.getElementById("ui-graph-canvas");
const status = document.getElementById("ui-graph-status");
const context = canvas.getContext("2d");
const find = document.getElementById("ui-graph-find");
const type = document.getElementById("ui-graph-type");
const steps = document.getElementById("ui-graph-steps");

const NAME_ROOM = 120;

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

start();

async function start() {
  const response = await fetch(box.dataset.src);
  const data = await response.json();
  place(data.nodes);
  edges = data.edges;
  around = nodes.map(() => []);
  for (const [a, b] of edges) {
    around[a].push(b);
    around[b].push(a);
  }
  nodes.forEach((node, at) => (node.size = 2 + Math.sqrt(around[at].length)));
  box.hidden = false;
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

/** The first places: each folder a disc on a spiral, its pages a spiral in it. */
function place(rows) {
  const folders = new Map();
  for (const [title, url, folder, kind, tags] of rows) {
    if (!folders.has(folder)) folders.set(folder, []);
    const node = { title, url, folder, kind, tags, x: 0, y: 0, vx: 0, vy: 0 };
    folders.get(folder).push(node);
    nodes.push(node);
  }
  const turn = Math.PI * (3 - Math.sqrt(5));
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
  fit();
  heat = 1;
  say();
  schedule();
}

function say() {
  const name = chosen >= 0 ? ` Chosen: ${nodes[chosen].title}; Enter opens it.` : "";
  status.textContent = `${shown.size.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} pages are shown.${name}`;
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
    schedule();
  }
  draw();
}

function push() {
  const cell = 60;
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
      one.vx += (x / near) * 14;
      one.vy += (y / near) * 14;
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
    context.arc(node.x, node.y, node.size * Math.sqrt(ratio / scale), 0, 7);
    context.fill();
  }
  const room = canvas.clientWidth < 600 ? 15 : 40;
  const named = [...shown].sort((a, b) => around[b].length - around[a].length).slice(0, shown.size > 400 ? 12 : room);
  context.fillStyle = ink;
  context.font = `${12 * ratio / scale}px sans-serif`;
  context.textAlign = "center";
  for (const at of new Set([...named, chosen, hovered])) {
    if (at < 0 || !shown.has(at)) continue;
    context.strokeStyle = style.getPropertyValue("--paper");
    context.lineWidth = 3 * ratio / scale;
    context.strokeText(nodes[at].title.slice(0, 40), nodes[at].x, nodes[at].y - 8 * ratio / scale);
    context.fillText(nodes[at].title.slice(0, 40), nodes[at].x, nodes[at].y - 8 * ratio / scale);
  }
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
    if (found === chosen) location.href = nodes[found].url;
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
    else if (event.key === "Enter" && chosen >= 0) location.href = nodes[chosen].url;
    else if (event.key === "n") { const all = [...shown]; chosen = all[(all.indexOf(chosen) + 1) % all.length]; say(); }
    else return;
    event.preventDefault();
    schedule();
  });
  document.addEventListener("ui-theme", schedule);
}

function zoom(factor, x, y) {
  const next = Math.min(Math.max(scale * factor, 0.02), 12);
  offset.x = x - (x - offset.x) * next / scale;
  offset.y = y - (y - offset.y) * next / scale;
  scale = next;
  schedule();
}
