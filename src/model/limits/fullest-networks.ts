/**
 * The items of the network whose items weigh the most together, in their order, and that weight; several networks with the most
 * count as one. A caller that takes too much of what is shared so displaces its own, and nothing of others.
 */
export function ofFullestNetworks<Item>(
  items: readonly Item[],
  networkOf: (item: Item) => string,
  weightOf: (item: Item) => number = () => 1,
): { readonly items: readonly Item[]; readonly weight: number } {
  const sums = new Map<string, number>();
  for (const item of items) sums.set(networkOf(item), (sums.get(networkOf(item)) ?? 0) + weightOf(item));
  const weight = Math.max(0, ...sums.values());
  return { items: items.filter((item) => sums.get(networkOf(item)) === weight), weight };
}
