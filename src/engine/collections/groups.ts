import { bagSize, itemsOf } from './bag.ts';
import { isWithin, type Scope } from './scopes.ts';
import type { Cell, Counter, Group, IndexNode } from './state.ts';
import { compareCells, scopeOfCell } from './storage.ts';
import type { Entry } from './types.ts';

/** Groups with more members than this keep their sorted list. */
const cheapToSort = 8;

/** The group of a name; made, empty, if there is none. Who makes one links it or calls {@link releaseGroup}. */
export function obtainGroup(index: IndexNode, name: string): Group {
  let group = index.groups.get(name);
  if (group === undefined) {
    group = { kind: 'group', index, name, members: undefined, dependents: undefined, counter: undefined };
    index.groups.set(name, group);
  }
  return group;
}

/** The number of a group's members as a source. Who makes one links it. */
export function obtainCounter(group: Group): Counter {
  group.counter ??= { kind: 'counter', group, dependents: undefined };
  return group.counter;
}

/** Forgets a group without members and dependents; does nothing to any other. */
export function releaseGroup(group: Group): void {
  if (group.members !== undefined || group.dependents !== undefined || group.counter !== undefined) return;
  if (group.index.groups.get(group.name) === group) group.index.groups.delete(group.name);
}

/** Members in canonical order; with a scope, those whose own scope is inside it. */
export function membersOf(group: Group, scope?: Scope): readonly Entry<unknown>[] {
  if (scope !== undefined && group.index.from.scoped) {
    return sortedEntries([...itemsOf(group.members)].filter((cell) => isWithin(scopeOfCell(cell), scope)));
  }
  const { sorted } = group.index;
  const known = sorted.get(group);
  if (known !== undefined) return known;
  const entries = sortedEntries([...itemsOf(group.members)]);
  if (entries.length > cheapToSort) sorted.set(group, Object.freeze(entries));
  return entries;
}

/** The first members in canonical order, without sorting the others; with a scope, of those whose own scope is inside it. */
export function firstOf(group: Group, count: number, scope?: Scope): readonly Entry<unknown>[] {
  const { from } = group.index;
  const first: Cell[] = [];
  for (const cell of itemsOf(group.members)) {
    if (scope !== undefined && from.scoped && !isWithin(scopeOfCell(cell), scope)) continue;
    const last = first[count - 1];
    if (last !== undefined && compareCells(cell, last) > 0) continue;
    const place = first.findIndex((other) => compareCells(cell, other) < 0);
    first.splice(place < 0 ? first.length : place, 0, cell);
    first.length = Math.min(first.length, count);
  }
  return sortedEntries(first);
}

function sortedEntries(cells: Cell[]): Entry<unknown>[] {
  return cells.sort(compareCells).map(({ partition, key, value }) => ({ partition: partition.name, key, value }));
}

/** Number of members; with a scope, of those whose own scope is inside it. */
export function countOf(group: Group, scope?: Scope): number {
  if (scope === undefined || !group.index.from.scoped) return bagSize(group.members);
  let count = 0;
  for (const cell of itemsOf(group.members)) if (isWithin(scopeOfCell(cell), scope)) count += 1;
  return count;
}
