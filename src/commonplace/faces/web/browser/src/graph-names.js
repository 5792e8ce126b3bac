// Names of points on a canvas of their own above the picture: those of the most linked first, each only where no other
// name is, so zooming in shows more of them.

const MOST = 150;
const LONGEST = 40;

/** Draws names until there is no room: `points` have a title, a place on the screen and a radius, and are in order. */
export function drawNames(canvas, points) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
  }
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, wide, high);
  context.font = "12px sans-serif";
  context.lineWidth = 3;
  context.strokeStyle = style.getPropertyValue("--paper");
  context.fillStyle = style.getPropertyValue("--ink");
  const taken = [];
  for (const point of points) {
    if (point.x < 0 || point.y < 0 || point.x > wide || point.y > high) continue;
    const name = point.title.length > LONGEST ? `${point.title.slice(0, LONGEST - 1)}…` : point.title;
    const width = context.measureText(name).width;
    const room = places(point, width).find((box) => isFree(box, taken, wide, high));
    if (!room) continue;
    taken.push(room);
    context.strokeText(name, room[0] + 4, room[3] - 4);
    context.fillText(name, room[0] + 4, room[3] - 4);
    if (taken.length >= MOST) break;
  }
  canvas.dataset.names = String(taken.length);
}

/** Where a name may be: above its point, below it, beside it; each as left, top, right and bottom. */
function places({ x, y, radius }, width) {
  const [half, away] = [width / 2 + 4, radius + 3];
  return [
    [x - half, y - away - 17, x + half, y - away],
    [x - half, y + away, x + half, y + away + 17],
    [x + away, y - 9, x + away + 2 * half, y + 8],
    [x - away - 2 * half, y - 9, x - away, y + 8],
  ];
}

function isFree(box, taken, wide, high) {
  if (box[0] < 0 || box[1] < 0 || box[2] > wide || box[3] > high) return false;
  return !taken.some((other) => other[0] < box[2] && box[0] < other[2] && other[1] < box[3] && box[1] < other[3]);
}
