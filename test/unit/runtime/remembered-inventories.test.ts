import { describe, expect, it } from 'vitest';
import type { InventoryEntry } from '../../../src/model/agent/agent.ts';
import { inventoryDigest } from '../../../src/model/agent/inventory-digest.ts';
import type { ClusterName } from '../../../src/model/fleet/ids.ts';
import type { AgentListener } from '../../../src/relay/session.ts';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { startedReplicas } from '../../support/replica-world.ts';
import { abc, base, restart, startedWorld } from '../../support/started-world.ts';

const EAST = 'east' as ClusterName;
const [KEY_A] = abc;

/** Whether the server remembers exactly these entries of the cluster `east`. */
function remembers(listener: AgentListener | undefined, entries: readonly InventoryEntry[]): boolean {
  const remembered = listener?.remembered(EAST, inventoryDigest(entries));
  const byKey = (list: readonly InventoryEntry[]) => new Map(list.map((entry) => [entry.key, entry]));
  if (remembered !== undefined) expect(byKey(remembered)).toEqual(byKey(entries));
  return remembered !== undefined;
}

function entriesOf(world: FleetWorld): readonly InventoryEntry[] {
  return world.agent('east').holding().entries;
}

/** The inventory, with another first entry. */
function changed(entries: readonly InventoryEntry[], change: Partial<InventoryEntry>): readonly InventoryEntry[] {
  return entries.map((entry) => (entry.key === KEY_A ? { ...entry, ...change } : entry));
}

function phases({ server: { engine } }: FleetWorld): readonly string[] {
  return [...engine.inputs.ledger.entries(EAST)].map(({ value }) => value.phase).sort();
}

/** The server has started again and has read its sources; no agent is connected yet. */
async function restarted(first: FleetWorld, files: Readonly<Record<string, string>> = base): Promise<FleetWorld> {
  const world = await restart(first);
  world.source.push(files);
  await world.settle();
  return world;
}

describe('the inventory of a cluster', () => {
  it('is remembered over a restart with the store, and its agent is sent nothing', async () => {
    const world = await restarted(await startedWorld());
    const before = world.agent('east').deltas.length;
    expect(remembers(world.agents.listener, entriesOf(world))).toBe(true);
    for (const cluster of ['east', 'west']) world.agent(cluster).connect();
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(before);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(before + 1);
  });

  it.each([
    ['an origin', { origins: [{ source: 'main' as never, path: 'apps/other.yaml' }] }],
    ['a scope', { scope: ['west' as ClusterName] }],
    ['a phase', { phase: 'removing' }],
  ] satisfies [string, Partial<InventoryEntry>][])(
    'is not remembered if only %s differs, and is what the agent says',
    async (_, change) => {
      const world = await restarted(await startedWorld());
      const entries = changed(entriesOf(world), change);
      expect(remembers(world.agents.listener, entries)).toBe(false);
      world.agent('east').restore(entries);
      world.agent('east').connect();
      await world.settle();
      expect(world.agent('east').deltas).toHaveLength(2);
      expect(remembers(world.agents.listener, entriesOf(world))).toBe(true);
    },
  );

  it('is not remembered while a delta in flight has not arrived, and is accepted with it', async () => {
    const world = await startedWorld();
    const agent = world.agent('east');
    const before = entriesOf(world);
    agent.pause();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(phases(world)).toEqual(['accepted', 'accepted', 'inFlight']);
    expect(remembers(world.agents.listener, before)).toBe(false);
    const { digest } = agent.deltas.at(-1)?.upserts[0] ?? {};
    const after = changed(before, digest === undefined ? {} : { digest });
    const again = await restarted(world, { ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    expect(remembers(again.agents.listener, after)).toBe(true);
    agent.restore(after);
    agent.connect();
    await again.settle();
    expect(phases(again)).toEqual(['accepted', 'accepted', 'accepted']);
  });

  it('is remembered with an entry in removal only if the agent removes that object too', async () => {
    const { 'apps/a.yaml': _, ...withoutA } = base;
    const world = await startedWorld();
    const agent = world.agent('east');
    const before = entriesOf(world);
    agent.pause();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(phases(world)).toEqual(['accepted', 'accepted', 'removing']);
    const removing = changed(before, { phase: 'removing' });
    const gone = before.filter(({ key }) => key !== KEY_A);
    expect([before, removing, gone].map((entries) => remembers(world.agents.listener, entries))).toEqual([
      false,
      true,
      false,
    ]);
    const again = await restarted(world, withoutA);
    agent.restore(removing);
    agent.connect();
    await again.settle();
    expect(phases(again)).toEqual(['accepted', 'accepted', 'removing']);
  });

  it('is remembered by every replica that has read what another one wrote', async () => {
    const world = await startedReplicas();
    const [follower] = world.followers();
    world.leader().agent('east').connect();
    await world.pass();
    const { entries } = world.leader().agent('east').holding();
    expect(entries.length).toBeGreaterThan(0);
    expect(remembers(follower?.world.agents.listener, entries)).toBe(true);
    expect(remembers(follower?.world.agents.listener, changed(entries, { origins: [] }))).toBe(false);
  });
});
