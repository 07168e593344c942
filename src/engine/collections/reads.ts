import { bagSize, type Few, itemsOf, packed, samePacked, unpacked, withItem, withoutItem } from './bag.ts';
import type { Cell, Computation, DerivedNode, ReadList, Source } from './state.ts';
import { releaseCell, releaseGroup } from './storage.ts';

/** More lists with one last source are not searched. */
const MOST_LISTS = 8;

/** Makes a computation, or all that share a list of reads, depend on a source. They must not be linked yet. */
export function link(source: Source, dependent: Computation | ReadList): void {
  // All kinds of sources have this field; the type of a cell's bag also allows groups.
  const holder = source as Pick<Cell, 'dependents'>;
  holder.dependents = withItem(holder.dependents, dependent);
}

/** Undoes {@link link}, and deletes a source that exists only for its dependents. */
export function unlink(source: Source, dependent: Computation | ReadList): void {
  const holder = source as Pick<Cell, 'dependents'>;
  holder.dependents = withoutItem(holder.dependents, dependent);
  if (source.dependents !== undefined) return;
  if ('partition' in source) releaseCell(source);
  else if (source.kind === 'group') releaseGroup(source);
  else {
    source.group.counter = undefined;
    releaseGroup(source.group);
  }
}

/** The sources that a computation depends on, besides its primaries. */
export function sourcesOf({ reads }: Computation): readonly Source[] {
  return isList(reads) ? reads.sources : unpacked(reads);
}

function isList(reads: Computation['reads']): reads is ReadList {
  return reads !== undefined && 'kind' in reads && reads.kind === 'reads';
}

/** Replaces the sources that a computation depends on. */
export function relink(computation: Computation, reads: readonly Source[]): void {
  const before = computation.reads;
  if (isList(before) ? isSame(before.sources, reads) : samePacked(before, reads)) return;
  const list = sharedList(computation, reads);
  if (list === undefined && !isList(before)) {
    relinkSources(computation, unpacked(before), reads);
    return;
  }
  // What is needed now is linked first: a source without dependents is deleted.
  if (list === undefined) {
    for (const source of reads) link(source, computation);
    computation.reads = packed(reads) as Few<Source>;
  } else {
    list.readers = withItem(list.readers, computation);
    computation.reads = list;
  }
  if (isList(before)) leave(computation, before);
  else for (const source of unpacked(before)) unlink(source, computation);
}

function relinkSources(computation: Computation, before: readonly Source[], reads: readonly Source[]): void {
  computation.reads = packed(reads) as Few<Source>;
  const known = new Set(before);
  for (const source of reads) if (!known.delete(source)) link(source, computation);
  for (const source of known) unlink(source, computation);
}

function isSame(a: readonly Source[], b: readonly Source[]): boolean {
  return a.length === b.length && a.every((source, at) => source === b[at]);
}

/**
 * The list of several reads that this computation shares with others of its node; undefined: it shares none. Most computations of a
 * node that read the same were visited one after the other, so a list is made for two of them in turn.
 */
function sharedList(computation: Computation, reads: readonly Source[]): ReadList | undefined {
  const { node } = computation;
  const last = reads.at(-1);
  if (last === undefined || reads.length === 1) return undefined;
  const lists = node.lists.get(last);
  for (const list of itemsOf(lists)) if (isSame(list.sources, reads)) return list;
  const { recent } = node;
  if (recent !== undefined && recent !== computation && !isList(recent.reads) && samePacked(recent.reads, reads)) {
    if (bagSize(lists) >= MOST_LISTS) return undefined;
    node.recent = undefined;
    return listOf(node, recent, last);
  }
  node.recent = computation;
  return undefined;
}

/** Makes a list of the reads of a computation, which is its first reader. */
function listOf(node: DerivedNode, first: Computation, last: Source): ReadList {
  const sources = unpacked(first.reads as Few<Source>);
  const list: ReadList = { kind: 'reads', sources, readers: first };
  for (const source of sources) link(source, list);
  for (const source of sources) unlink(source, first);
  first.reads = list;
  node.lists.set(last, withItem(node.lists.get(last), list));
  return list;
}

/** Removes a computation from the readers of its list. A list without readers is deleted. */
function leave(computation: Computation, list: ReadList): void {
  const { lists } = computation.node;
  list.readers = withoutItem(list.readers, computation);
  if (list.readers !== undefined) return;
  const last = list.sources.at(-1) as Source;
  const left = withoutItem(lists.get(last), list);
  if (left === undefined) lists.delete(last);
  else lists.set(last, left);
  for (const source of list.sources) unlink(source, list);
}
