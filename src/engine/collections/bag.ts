/**
 * An unordered set that is stored as small as possible: nothing while it is empty, the item itself while it has one, a list
 * while it has few. There are hundreds of thousands of them, and most have one item.
 */
export type Bag<Item extends object> = undefined | Item | Item[] | Set<Item>;

/** With more items the bag is a Set, because searching a list takes too long. */
const longestList = 8;

/** Adds an item that is not in the bag. May change the given bag: use only the returned one. */
export function withItem<Item extends object>(bag: Bag<Item>, item: Item): Bag<Item> {
  if (bag === undefined) return item;
  if (bag instanceof Set) return bag.add(item);
  if (!Array.isArray(bag)) return [bag, item];
  return bag.length < longestList ? appended(bag, item) : new Set(bag).add(item);
}

/** Copies, because a list that grows in place reserves memory for a dozen more items, and `concat` is slow. */
function appended<Item>(items: readonly Item[], item: Item): Item[] {
  const copy = new Array<Item>(items.length + 1);
  for (let index = 0; index < items.length; index += 1) copy[index] = items[index] as Item;
  copy[items.length] = item;
  return copy;
}

/** Removes an item, if the bag has it. May change the given bag: use only the returned one. */
export function withoutItem<Item extends object>(bag: Bag<Item>, item: Item): Bag<Item> {
  if (bag === undefined || bag === item) return undefined;
  if (bag instanceof Set) {
    bag.delete(item);
    return bag.size > 1 ? bag : onlyItem(bag);
  }
  if (!Array.isArray(bag)) return bag;
  const at = bag.indexOf(item);
  if (at < 0) return bag;
  const last = bag.pop() as Item;
  if (at < bag.length) bag[at] = last;
  return bag.length > 1 ? bag : bag[0];
}

function onlyItem<Item>(items: Set<Item>): Item | undefined {
  for (const item of items) return item;
  return undefined;
}

/** The items, in no particular order. The bag must not change during the iteration. */
export function itemsOf<Item extends object>(bag: Bag<Item>): Iterable<Item> {
  if (bag === undefined) return none;
  return bag instanceof Set || Array.isArray(bag) ? bag : [bag];
}

const none: readonly never[] = [];

/** The number of items. */
export function bagSize(bag: Bag<object>): number {
  if (bag === undefined) return 0;
  if (bag instanceof Set) return bag.size;
  return Array.isArray(bag) ? bag.length : 1;
}

/** A list that is stored as small as possible: nothing while it is empty, the item itself while it has one. */
export type Few<Item extends object> = undefined | Item | readonly Item[];

/** Packs a copy of a list. */
export function packed<Item extends object>(items: readonly Item[]): Few<Item> {
  return items.length > 1 ? items.slice() : items[0];
}

/** The items in order. */
export function unpacked<Item extends object>(few: Few<Item>): readonly Item[] {
  if (few === undefined) return none;
  return Array.isArray(few) ? (few as readonly Item[]) : [few as Item];
}

/** Whether the packed list has exactly these items in this order. */
export function samePacked<Item extends object>(few: Few<Item>, items: readonly Item[]): boolean {
  if (!Array.isArray(few)) return few === undefined ? items.length === 0 : items.length === 1 && items[0] === few;
  if (few.length !== items.length) return false;
  for (let index = 0; index < items.length; index += 1) if (few[index] !== items[index]) return false;
  return true;
}
