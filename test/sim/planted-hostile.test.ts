import { describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engine/graph.ts';
import type { AgentListener, ReportedHolding } from '../../src/relay/session.ts';
import { playSeed } from './play.ts';
import type { Tampering, World } from './world.ts';

const SEEDS = 10;

/** What the checker of hostile agents finds where a server has this fault. Plays seeds until it finds something. */
async function found(tampering: Tampering): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violations } = await playSeed(seed, { hostile: 'always', steps: 600, tampering });
    const mine = violations.find(({ checker }) => checker === 'containment');
    if (mine !== undefined) return mine.message;
  }
  return undefined;
}

/** A relay that passes something else on to its server. */
function passing(change: (world: World, listener: AgentListener) => Partial<AgentListener>): Tampering {
  return {
    relay: (world, relay) => ({
      ...relay,
      start: (listener) => relay.start({ ...listener, ...change(world, listener) }),
    }),
  };
}

/** Each holding is believed as if its tag proved this. */
function believing(type: 'position' | 'inventory'): Tampering {
  const believed = (holding: ReportedHolding): ReportedHolding => ({ ...holding, proof: { type, key: 'planted' } });
  return passing((_world, listener) => ({
    connected: (session, holding) => listener.connected(session, believed(holding)),
  }));
}

describe('a planted fault is caught: a hostile agent costs the others something', () => {
  test('an admission is believed without a proof', async () => {
    expect(await found(believing('position'))).toMatch(/which only the hostile agent of \w+ has said/);
  });

  test('entries count as sent without a proof', async () => {
    expect(await found(believing('inventory'))).toMatch(/has said|counts as sent, and no server has sent it/);
  });

  test('unproven entries become proven in the ledger', async () => {
    const source: Tampering['source'] = (world, own) => {
      world.listen((event) => {
        if (event.type !== 'connected' || event.cluster !== world.hostile?.cluster) return;
        world.time.in(50, () => {
          for (const { life } of world.servers) prove(life()?.server?.engine.inputs.ledger, event.cluster.name);
        });
      });
      return own;
    };
    expect(await found({ source })).toMatch(/counts as sent, and no server has sent it/);
  });

  test('results of keys that were never sent are kept', async () => {
    const keeping = passing((world, listener) => ({
      results: (cluster, results) => {
        for (const { life } of world.servers) {
          for (const result of results) life()?.server?.engine.inputs.results.set(cluster, result.key, result);
        }
        return listener.results(cluster, results);
      },
    }));
    expect(await found(keeping)).toMatch(/a result of .* is kept for \w+, which was not sent it/);
  });
});

function prove(ledger: Engine['inputs']['ledger'] | undefined, cluster: string): void {
  for (const { key, value } of [...(ledger?.entries(cluster) ?? [])]) {
    const { unproven: _, ...proven } = value;
    ledger?.set(cluster, key, proven);
  }
}
