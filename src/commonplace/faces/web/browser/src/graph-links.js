/** The numbers of the points that are linked with each point of a graph. */
export function neighbours(count, pairs) {
  const lists = Array.from({ length: count }, () => []);
  for (const [a, b] of pairs) {
    lists[a].push(b);
    lists[b].push(a);
  }
  return lists;
}
