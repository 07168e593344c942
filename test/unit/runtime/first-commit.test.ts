import { describe, expect, it } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { abc, base, names, restart, startedWorld, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

function ledgerOf({ server: { engine } }: FleetWorld): readonly string[] {
  return [...engine.inputs.ledger.entries('east')].map(({ key }) => key).sort();
}

describe('the first commit of a server that starts again', () => {
  it('contains the first reads of its sources: the state of the store is not computed twice', async () => {
    const again = await restart(await startedWorld());
    expect(ledgerOf(again)).toEqual([]);
    const decided = again.server.engine.graph.watch(again.server.engine.decisions);
    again.source.push(base);
    expect(ledgerOf(again)).toEqual(abc);
    const east = decided.take().filter(({ partition }) => partition === 'east');
    expect(east.map(({ before, after }) => [before?.type, after?.type])).toEqual(abc.map(() => [undefined, 'object']));
  });

  it('does not wait for long for silent sources: people see the remembered state', async () => {
    const again = await restart(await startedWorld());
    await again.clock.advance(4_999);
    expect(ledgerOf(again)).toEqual([]);
    await again.clock.advance(1);
    expect(ledgerOf(again)).toEqual(abc);
    expect(again.server.api.clusters().map(({ name }) => name)).toEqual(['east', 'west']);
  });

  it('has been when the first agent is let in, also if nothing of the sources can be read', async () => {
    const again = await restart(await startedWorld());
    expect(again.agent('east').connect()).toMatchObject({ type: 'retry', reason: 'ServerStarting' });
    again.source.condition({ state: 'failing' });
    expect(again.agent('east').connect().type).toBe('admitted');
  });

  it('forgets files that were deleted while no server ran: they do not hold as last known good again', async () => {
    const again = await restart(await startedWorld());
    again.source.push({ ...base, 'fleet/placement.yaml': null });
    for (const cluster of ['east', 'west']) again.agent(cluster).connect();
    await again.settle();
    expect(names(again, 'east')).toEqual([]);
    expect([...again.server.engine.inputs.lastKnownGood.entries('Placement')]).toEqual([]);
    again.source.push({ 'fleet/typo.yaml': typo, 'apps/d.yaml': configMapYaml('d', '1') });
    await again.settle();
    expect(names(again, 'east')).toEqual([]);
  });

  it('is seen by all, also if the store takes its time while the server is made', async () => {
    const first = await startedWorld();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now());
    const { store, agents } = first;
    const starting = createFleetWorld({
      ...{ clock, agents },
      store: {
        ...store,
        list: async function* (prefix) {
          if (prefix === 'suspended/') await clock.sleep(5);
          yield* store.list(prefix);
        },
      },
    });
    await clock.advance(10);
    const again = await starting;
    again.source.push({ ...base, 'apps/a.yaml': null, 'fleet/placement.yaml': null });
    await again.settle();
    expect([...again.server.engine.inputs.lastKnownGood.entries('Placement')]).toEqual([]);
  });
});
