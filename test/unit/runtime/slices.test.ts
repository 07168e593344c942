import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/graph.ts';
import type { AgentHolding, InventoryEntry } from '../../../src/model/agent/agent.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { canonicalJson, compareText, type JsonValue } from '../../../src/model/text/json.ts';
import { type CutWorld, createCutWorld } from '../../support/cut-world.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { kindsOf, liveService, liveSlice, mirrorYaml } from '../../support/mirrors.ts';
import { restart } from '../../support/started-world.ts';

const TIME = /\d{13}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
const CLUSTERS = ['east', 'west'] as const;
const NAMES = ['a', 'b', 'c'] as const;
const base = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { env: 'prod' }),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'fleet/mirror.yaml': mirrorYaml('shops', 'names: [east]', 'names: [west]'),
  'apps/a.yaml': configMapYaml('a', '1'),
};

const cluster = fc.constantFrom(...CLUSTERS);
const name = fc.constantFrom(...NAMES);
const step = fc.oneof(
  fc.record({ type: fc.constant('push' as const), name, content: fc.constantFrom('1', '2', null) }),
  fc.record({ type: fc.constant('discover' as const), cluster, name, address: fc.constantFrom('1', '2', null) }),
  fc.record({ type: fc.constant('connect' as const), cluster }),
  fc.record({ type: fc.constant('disconnect' as const), cluster }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function play(world: FleetWorld, each: Step): void {
  switch (each.type) {
    case 'push':
      world.source.push({
        [`apps/${each.name}.yaml`]: each.content === null ? null : configMapYaml(each.name, each.content),
      });
      return;
    case 'discover':
      discover(world, each.cluster, each.name, each.address);
      return;
    case 'connect':
      if (!world.agent(each.cluster).isConnected()) world.agent(each.cluster).connect();
      return;
    case 'disconnect':
      world.agent(each.cluster).disconnect();
  }
}

/** A step of the input snapshot: a service with one address, or none any more. */
function discover(world: FleetWorld, at: string, service: string, address: string | null): void {
  const agent = world.agent(at);
  if (!agent.isConnected()) return;
  const found = [liveService(service), liveSlice(service, [`10.0.0.${address ?? 0}`])];
  const removals = world.server.engine.inputs.live.latest(at, `/Service/web/${service}` as ObjectKey) ? found : [];
  agent.discovers({ ...(address === null ? { removals } : { upserts: found }), kinds: kindsOf() });
}

/**
 * All that the server holds, without the positions of its deltas and the times of transitions: what is staged during a commit shares
 * the next one.
 */
function stateOf({ server, agents, statusFiles }: FleetWorld): readonly string[] {
  const { engine } = server;
  const { ledger, live, results, snapshots, agents: known, heldRemovals, contenders } = engine.inputs;
  const shown: readonly Engine['derived'][number][] = [
    engine.outputs,
    engine.pending,
    engine.progress,
    engine.statuses,
  ];
  const inputs = [ledger, live, results, snapshots, known, heldRemovals, contenders];
  const texts = [
    ...[...inputs, ...shown].flatMap((collection) =>
      [...collection.partitions()].flatMap((partition) =>
        Array.from(
          collection.entries(partition),
          ({ key, value }) => `${collection.name} ${partition} ${key} ${canonicalJson(value as JsonValue)}`,
        ).sort(),
      ),
    ),
    ...[...agents.known].map(([id, agent]) => `${id} ${canonicalJson(byKey(agent.holding()) as never)}`),
    ...[...statusFiles].map(([path, text]) => `${path} ${text}`).sort(),
  ];
  return texts.map((text) => text.replaceAll(TIME, 'TIME'));
}

function byKey({ entries }: AgentHolding): readonly InventoryEntry[] {
  return [...entries].sort((a, b) => compareText(a.key, b.key));
}

async function started(world: FleetWorld): Promise<void> {
  world.source.push(base);
  await world.settle();
  for (const each of CLUSTERS) world.agent(each).connect();
  await world.settle();
}

/** At rest: whether an agent received a delta before it was disconnected does not matter any more. */
async function reconnected(world: FleetWorld): Promise<void> {
  await world.settle();
  for (const each of CLUSTERS) if (!world.agent(each).isConnected()) world.agent(each).connect();
  await world.settle();
}

describe('a server that commits in slices', () => {
  it('comes to the same state as one that does not, wherever it is cut, and whatever arrives meanwhile', async () => {
    const batches = fc.array(fc.array(fc.record({ step, turns: fc.nat({ max: 6 }) }), { minLength: 1, maxLength: 6 }), {
      maxLength: 4,
    });
    const cuts = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(batches, cuts, async (history, records) => {
        const whole = await createFleetWorld();
        const cut: CutWorld = await createCutWorld(records);
        await Promise.all([started(whole), started(cut)]);
        for (const batch of history) {
          cut.hold();
          for (const { step: each, turns } of batch) {
            play(whole, each);
            await whole.clock.advance(0);
            play(cut, each);
            for (let turn = 0; turn < turns; turn += 1) {
              cut.turn();
              await cut.clock.settle();
            }
          }
          await Promise.all([reconnected(whole), reconnected(cut)]);
          expect(stateOf(cut)).toEqual(stateOf(whole));
        }
      }),
      { numRuns: 40 },
    );
  }, 120_000);

  it('stores the objects of both steps of an input snapshot that arrive before one commit', async () => {
    const world = await createCutWorld([1]);
    await started(world);
    world.hold();
    discover(world, 'east', 'a', '1');
    discover(world, 'east', 'b', '1');
    await world.settle();
    const again = await restart(world);
    again.source.push(base);
    await again.settle();
    expect([...again.server.engine.inputs.live.entries('east')].map(({ key }) => key).sort()).toEqual(
      [...world.server.engine.inputs.live.entries('east')].map(({ key }) => key).sort(),
    );
    expect(again.server.engine.inputs.live.size('east')).toBe(4);
  });
});

it('a large revision is staged in slices, and is committed as a whole', async () => {
  const RECORDS = 10;
  const world = await createCutWorld([RECORDS]);
  world.source.push(base);
  await world.settle();
  const { files } = world.server.engine.inputs;
  world.hold();
  const paths = Array.from({ length: 200 }, (_, index) => `apps/more-${index}.yaml`);
  world.source.push(Object.fromEntries(paths.map((path, index) => [path, configMapYaml(`more-${index}`, '1')])));
  const stagedOf = (): number => paths.filter((path) => files.latest('main', path) !== undefined).length;
  const steps: number[] = [];
  for (let before = stagedOf(); before < paths.length && steps.length < 1_000; ) {
    world.turn();
    const after = stagedOf();
    steps.push(after - before);
    before = after;
    expect(files.size('main')).toBe(Object.keys(base).length);
  }
  expect(stagedOf()).toBe(paths.length);
  expect(Math.max(...steps)).toBeLessThanOrEqual(RECORDS + 1);
  await world.settle();
  expect(files.size('main')).toBe(Object.keys(base).length + paths.length);
});
