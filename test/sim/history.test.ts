import { describe, expect, test } from 'vitest';
import type { AgentHolding } from '../../src/model/agent/agent.ts';
import type { Digest } from '../../src/model/fleet/ids.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import { clusterLeaseKey } from '../../src/runtime/replica/cluster-leases.ts';
import { jsonWrite } from '../../src/runtime/stored/json-record.ts';
import { history } from './checkers/history.ts';
import { createWorld } from './world.ts';

const DELTA: SequencedDelta = {
  position: { epoch: 1, sequence: 1 },
  from: 'nothing' as Digest,
  to: 'one' as Digest,
  revisions: [],
  ...{ upserts: [], touches: [], removals: [], keeps: [] },
};
const HOLDING: AgentHolding = { position: DELTA.position, digest: DELTA.to, entries: [] };

/** What happens to the first of two servers, and to the delta that leaves it after 30 s. Times are in milliseconds. */
interface Course {
  /** When it gets the lease of the cluster; absent: it never does. */
  readonly leasedAt?: number;
  /** When its log says that the store cannot be written, and when that it can be written again; absent: it never says so. */
  readonly failsAt?: number;
  readonly writesAgainAt?: number;
  /** After 40 s the agent connects to the second server, or the first one ends. */
  readonly end: 'agent moves' | 'server ends';
}

/** What the checker says of the delta, which the log lacks. */
async function said({ leasedAt, failsAt, writesAgainAt, end }: Course): Promise<readonly string[]> {
  const world = {
    ...createWorld(1),
    servers: [],
    setting: { servers: 2, shared: true, lease: 'cluster' } as const,
  };
  const violations: string[] = [];
  const checker = history(world, (message) => void violations.push(message));
  const { cluster } = world.agents[0] ?? expect.fail();
  const at = (milliseconds: number | undefined, what: () => void): void => {
    if (milliseconds !== undefined) world.time.in(milliseconds, what);
  };
  const lease = (replica: string): void => {
    const record = { replica, instance: 'one', session: `${replica}/1` };
    void world.memory.open().write([jsonWrite(clusterLeaseKey(cluster.name), record)]);
  };
  const log = (message: string): void =>
    world.tell({ type: 'log', line: { process: 'first', level: 'warn', message, data: {} } });
  at(10_000, () => log('requesting cluster leases failed; it is tried again'));
  at(leasedAt, () => lease('first'));
  at(failsAt, () => log('the store cannot be written'));
  at(writesAgainAt, () => log('the store can be written again'));
  at(30_000, () => world.tell({ type: 'departed', process: 'first', cluster, delta: DELTA }));
  at(40_000, () => {
    if (end === 'server ends') return world.tell({ type: 'died', process: 'first' });
    lease('second');
    world.tell({ type: 'connected', process: 'second', cluster, holding: HOLDING });
  });
  await world.time.advance(50_000, checker.stepped);
  checker.atRest?.('quiet');
  return violations;
}

const LACKS = [expect.stringContaining('lacks the delta (1, 1)')];

describe('the checker of history, of a delta that the log lacks', () => {
  test('knows a server that never got the lease, however long ago its request failed', async () => {
    expect(await said({ end: 'agent moves' })).toEqual([]);
  });

  test('knows a server that got the lease a moment before the agent left it', async () => {
    expect(await said({ leasedAt: 39_900, end: 'agent moves' })).toEqual([]);
  });

  test.each([['before', 20_000] as const, ['after', 31_000] as const])(
    'reports a server that got the lease %s the delta had left',
    async (_, leasedAt) => {
      expect(await said({ leasedAt, end: 'agent moves' })).toEqual(LACKS);
    },
  );

  test.each(['agent moves', 'server ends'] as const)(
    'knows a server with the lease that could not write the store until the %s',
    async (end) => {
      expect(await said({ leasedAt: 20_000, failsAt: 29_000, end })).toEqual([]);
    },
  );

  test('knows a server that got the lease while it could not write the store, which fails since the delta had left', async () => {
    expect(await said({ leasedAt: 36_000, failsAt: 35_000, end: 'agent moves' })).toEqual([]);
  });

  test.each(['agent moves', 'server ends'] as const)(
    'knows a server that could write the store again a moment before the %s',
    async (end) => {
      expect(await said({ leasedAt: 20_000, failsAt: 29_000, writesAgainAt: 39_900, end })).toEqual([]);
    },
  );

  test.each(['agent moves', 'server ends'] as const)(
    'reports a server that could write the store again long before the %s',
    async (end) => {
      expect(await said({ leasedAt: 20_000, failsAt: 29_000, writesAgainAt: 35_000, end })).toEqual(LACKS);
    },
  );

  test.each(['agent moves', 'server ends'] as const)(
    'reports a server that could still write the store long after the delta had left, and not when the %s',
    async (end) => {
      expect(await said({ leasedAt: 20_000, failsAt: 35_000, end })).toEqual(LACKS);
    },
  );
});
