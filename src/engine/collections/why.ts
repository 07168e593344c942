import { itemsOf, unpacked } from './bag.ts';
import { compareAddresses, compareText } from './order.ts';
import { isWithin } from './scopes.ts';
import { absent, type Cell, type Computation, type DerivedOrigin } from './state.ts';
import { compareCells, scopeOfCell } from './storage.ts';
import type { Why } from './types.ts';

/**
 * The tree from an entry down to inputs. A part that is reached on several ways is one shared object, so that its size
 * is bounded by what is held.
 */
export function explainCell(cell: Cell): Why {
  return explain(cell, new Map());
}

function explain(cell: Cell, known: Map<Cell, Why>): Why {
  const seen = known.get(cell);
  if (seen !== undefined) return seen;
  const { partition, key, value, origin } = cell;
  const { store } = partition;
  const address = { collection: store.name, partition: partition.name, key };
  const because = [...causesOf(cell)].sort(compareAcrossCollections).map((cause) => explain(cause, known));
  const why: Why = {
    ...address,
    ...(value === absent ? { absent: true as const } : {}),
    ...(store.kind === 'input' && value !== absent && origin !== undefined ? { provenance: origin } : {}),
    because,
  };
  known.set(cell, why);
  return why;
}

/** The cells that a cell's value was computed from, absent ones included. */
function causesOf(cell: Cell): ReadonlySet<Cell> {
  const causes = new Set<Cell>();
  if (cell.value === absent || cell.partition.store.kind === 'input') return causes;
  const origin = cell.origin as DerivedOrigin;
  switch (origin?.kind) {
    case 'computation':
      addCauses(origin, causes);
      break;
    case 'emissions':
      for (const { by } of origin.list) addCauses(by, causes);
      break;
    case 'blame':
      for (const one of origin.of) {
        if ('kind' in one) addCauses(one, causes);
        else causes.add(one);
      }
      break;
    case 'touch':
    case undefined:
      break;
    default:
      origin satisfies never;
  }
  return causes;
}

function addCauses(computation: Computation, causes: Set<Cell>): void {
  causes.add(computation.primary);
  if (computation.right !== undefined) causes.add(computation.right);
  for (const source of unpacked(computation.reads)) {
    if ('partition' in source) {
      causes.add(source);
      continue;
    }
    const group = source.kind === 'counter' ? source.group : source;
    for (const member of itemsOf(group.members)) {
      if (isWithin(scopeOfCell(member), computation.scope)) causes.add(member);
    }
  }
}

/** Orders cells of any stores by (collection, partition, key). */
export function compareAcrossCollections(a: Cell, b: Cell): number {
  return a.partition.store === b.partition.store
    ? compareCells(a, b)
    : compareText(a.partition.store.name, b.partition.store.name) ||
        compareAddresses({ partition: a.partition.name, key: a.key }, { partition: b.partition.name, key: b.key });
}
