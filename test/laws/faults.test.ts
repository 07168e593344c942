import { expect, test } from 'vitest';
import type { Graph } from '../../src/engine/collections/types.ts';
import { isBroken, type Law } from './support/check.ts';
import {
  blindScope,
  droppedDependency,
  everyKey,
  everyPartition,
  firstWriteWins,
  flawless,
  hiddenHistory,
  latecomersJoin,
  orderOfArrival,
  readsHalfWay,
  scopeOfWhatIsThere,
  sizesThatNeverFall,
  skippedDelete,
  swallowedNeighbours,
} from './support/faults.ts';
import { batches } from './support/laws/batches.ts';
import { emptiness } from './support/laws/emptiness.ts';
import { incremental } from './support/laws/incremental.ts';
import { isolation } from './support/laws/isolation.ts';
import { order } from './support/laws/order.ts';
import { restart } from './support/laws/restart.ts';
import { scopes } from './support/laws/scopes.ts';
import { slices } from './support/laws/slices.ts';

/** Far more than it takes: a fault is found within some dozens of graphs. */
const enough = 2000;

const planted: readonly { name: string; law: Law; fault: string; create: () => Graph }[] = [
  { name: 'incremental', law: incremental, fault: 'a dropped dependency', create: droppedDependency },
  { name: 'incremental', law: incremental, fault: 'a partition that is not left out', create: everyPartition },
  { name: 'incremental', law: incremental, fault: 'a key that is not left out', create: everyKey },
  { name: 'incremental', law: incremental, fault: 'a size that never falls', create: sizesThatNeverFall },
  { name: 'batches', law: batches, fault: 'the first write winning', create: firstWriteWins },
  { name: 'emptiness', law: emptiness, fault: 'a skipped delete', create: skippedDelete },
  { name: 'order', law: order, fault: 'members in order of arrival', create: orderOfArrival },
  { name: 'isolation', law: isolation, fault: 'neighbours swallowed by a throw', create: swallowedNeighbours },
  { name: 'restart', law: restart, fault: 'a hidden history', create: hiddenHistory },
  { name: 'slices', law: slices, fault: 'readers that see a commit half way', create: readsHalfWay },
  { name: 'slices', law: slices, fault: 'latecomers in the commit under way', create: latecomersJoin },
  { name: 'scopes', law: scopes, fault: 'members seen outside the scope', create: blindScope },
  { name: 'scopes', law: scopes, fault: 'a scope of what is there just now', create: scopeOfWhatIsThere },
];

test.each(planted)('the law of $name catches $fault', ({ law, create }) => {
  expect(isBroken(law, create, enough)).toBe(true);
});

test.each(planted)('the law of $name holds in a wrapper without a fault', ({ law }) => {
  expect(isBroken(law, flawless, 20)).toBe(false);
});
