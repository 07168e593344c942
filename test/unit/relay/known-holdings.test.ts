import { describe, expect, it } from 'vitest';
import { type InventoryEntry, TAKES_SETTINGS } from '../../../src/model/agent/agent.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import { createRelayHarness, EAST } from '../../support/relay-harness.ts';
import { configMapKey, deltaOf, type Outputs } from '../../support/relay-world.ts';

const NONE: Outputs = new Map();
const A: Outputs = new Map([['a', '1']]);
const AB: Outputs = new Map([
  ['a', '1'],
  ['b', '1'],
]);

/** An agent that holds `AB` and has connected again; the server remembers what `change` makes of its entries. */
async function reconnected(change: (entries: readonly InventoryEntry[]) => readonly InventoryEntry[]) {
  const world = await createRelayHarness();
  const { agent } = await world.connect({ capabilities: [TAKES_SETTINGS] });
  const session = () => world.owner.sessions.get(EAST);
  await session()?.session.send(deltaOf(NONE, AB, { epoch: 1, sequence: 1 }));
  const [first] = [...agent.entries.values()];
  if (first === undefined) throw new Error('the agent holds nothing');
  agent.entries.set('z', { ...first, key: configMapKey('z'), phase: 'removing' });
  const held = agent.holding().entries.filter(({ phase }) => phase === 'held');
  const claim = { ...agent.claim(), digest: deltaOf(NONE, AB, { epoch: 1, sequence: 1 }).to };
  const holding = { ...agent.holding(), digest: claim.digest };
  let sent = 0;
  agent.claim = () => claim;
  agent.holding = () => {
    sent += 1;
    return holding;
  };
  world.owner.inventories.set(EAST, change(holding.entries));
  world.network.cut();
  await world.clock.advance(1_000);
  return { world, agent, held, holding, session, sent: () => sent };
}

describe('a holding that the server remembers', () => {
  it('is not sent again, and deltas go on from it', async () => {
    const { session, holding, sent, agent } = await reconnected((entries) => entries);
    expect(sent()).toBe(0);
    expect(session()?.holding).toMatchObject({ ...holding, isKnown: true, proof: { type: 'position' } });
    session()?.session.settings(NO_SETTINGS);
    agent.entries.delete('z');
    agent.holding = () => ({ ...holding, entries: [...agent.entries.values()] });
    expect(await session()?.session.send(deltaOf(AB, A, { epoch: 1, sequence: 2 }))).toEqual({ type: 'accepted' });
    expect(agent.settingsHeard).toEqual([NO_SETTINGS]);
  });

  const changes: [string, (entry: InventoryEntry) => InventoryEntry][] = [
    ['content', (entry) => ({ ...entry, digest: sha256('other') })],
    ['origin', (entry) => ({ ...entry, origins: [{ source: 'other' as never, path: 'a.yaml' }] })],
    ['path', (entry) => ({ ...entry, origins: entry.origins.map((one) => ({ ...one, path: 'other.yaml' })) })],
    ['scope', (entry) => ({ ...entry, scope: [] })],
    ['stop', (entry) => ({ ...entry, stopped: true })],
    ['attempt', (entry) => ({ ...entry, attempt: 1_780_000_000_000 })],
    ['mode of drift', (entry) => ({ ...entry, driftMode: 'Report' })],
    ['phase', (entry) => ({ ...entry, phase: entry.phase === 'held' ? 'removing' : 'held' })],
  ];
  it.each(changes)('is sent if it differs in one %s', async (_, change) => {
    for (const changed of [0, 2]) {
      const { session, holding, sent } = await reconnected((entries) =>
        entries.with(changed, change(entries[changed]!)),
      );
      expect(sent()).toBe(1);
      expect(session()?.holding).toMatchObject({ ...holding, isKnown: false });
    }
  });

  it('is sent if the server lacks an entry, or remembers one more, or nothing', async () => {
    const more = (entries: readonly InventoryEntry[]) => [...entries, { ...entries[0]!, key: configMapKey('more') }];
    for (const change of [(entries: readonly InventoryEntry[]) => entries.slice(1), more, () => []]) {
      const { session, sent } = await reconnected(change);
      expect([sent(), session()?.holding.isKnown]).toEqual([1, false]);
    }
  });

  it('is sent if the claim has another digest of what is held, and then ends the stream', async () => {
    const { world, agent } = await reconnected((entries) => entries);
    const wrong = sha256('wrong');
    const [claim, holding] = [agent.claim(), agent.holding()];
    agent.claim = () => ({ ...claim, digest: wrong });
    agent.holding = () => ({ ...holding, digest: wrong });
    world.network.cut();
    await world.clock.advance(1_000);
    expect(world.owner.sessions.get(EAST)).toBeUndefined();
    expect(world.owner.breaches).toEqual([expect.stringContaining('DigestMismatch')]);
  });
});
