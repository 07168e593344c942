import { itemsOf } from './bag.ts';
import { enqueue } from './computation.ts';
import type { Scope } from './scopes.ts';
import { absent, type Cell } from './state.ts';

/**
 * Tells everyone who depends on a cell that it has changed: its value, or (`rescoped`) its scope. Called after the
 * value was written. Notifying a dependent twice does no harm.
 */
export function changed(cell: Cell, before: unknown, scopeBefore: Scope, rescoped: boolean): void {
  const { store } = cell.partition;
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind === 'computation') {
      enqueue(dependent);
      continue;
    }
    dependent.index.sorted.delete(dependent);
    for (const computation of itemsOf(dependent.dependents)) enqueue(computation);
    if (rescoped) for (const computation of itemsOf(dependent.counter?.dependents)) enqueue(computation);
  }
  if (before === absent) for (const appeared of store.consumers) appeared(cell);
  for (const index of store.indexes) index.queue.push(cell);
  for (const watcher of store.watchers) watcher.note(cell, before, scopeBefore);
}
