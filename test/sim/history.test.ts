import { describe, expect, test } from 'vitest';
import type { AgentHolding } from '../../src/model/agent.ts';
import type { Digest } from '../../src/model/ids.ts';
import type { SequencedDelta } from '../../src/model/output.ts';
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

/**
 * What the checker says of a delta that the log lacks: it left the first server after 30 s, and after 40 s the agent is at
 * the second one. `leasedAt`: when the first one gets the lease of the cluster; undefined: it never does.
 */
async function said(leasedAt?: number): Promise<readonly string[]> {
  const world = {
    ...createWorld(1),
    servers: [],
    setting: { servers: 2, shared: true, lease: 'cluster' } as const,
  };
  const violations: string[] = [];
  const checker = history(world, (message) => void violations.push(message));
  const { cluster } = world.agents[0] ?? expect.fail();
  const at = (milliseconds: number, what: () => void): void => void world.time.in(milliseconds, what);
  const lease = (replica: string): void => {
    const record = { replica, instance: 'one', session: `${replica}/1` };
    void world.memory.open().write([jsonWrite(clusterLeaseKey(cluster.name), record)]);
  };
  const message = 'requesting cluster leases failed; it is tried again';
  at(10_000, () => world.tell({ type: 'log', line: { process: 'first', level: 'warn', message, data: {} } }));
  if (leasedAt !== undefined) at(leasedAt, () => lease('first'));
  at(30_000, () => world.tell({ type: 'departed', process: 'first', cluster, delta: DELTA }));
  at(40_000, () => {
    lease('second');
    world.tell({ type: 'connected', process: 'second', cluster, holding: HOLDING });
  });
  await world.time.advance(50_000, checker.stepped);
  checker.atRest?.('quiet');
  return violations;
}

describe('the checker of history, of a delta that the log lacks', () => {
  test('knows a server that never got the lease, however long ago its request failed', async () => {
    expect(await said()).toEqual([]);
  });

  test('knows a server that got the lease a moment before the agent left it', async () => {
    expect(await said(39_900)).toEqual([]);
  });

  test.each([['before', 20_000] as const, ['after', 31_000] as const])(
    'reports a server that got the lease %s the delta had left',
    async (_, leasedAt) => {
      expect(await said(leasedAt)).toEqual([expect.stringContaining('lacks the delta (1, 1)')]);
    },
  );
});
