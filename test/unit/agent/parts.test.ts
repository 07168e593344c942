import { expect, test } from 'vitest';
import type { AgentPart, CreateAgentPart } from '../../../src/agent/agent-part.ts';
import { madeReport, reportsOf } from '../../../src/model/agent/agent-report.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { configMap, createAgentWorld, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const WEATHER = { kind: 'Weather', name: 'today' };
const WEATHER_KEY = 'internal.fleetrelay.dev/Weather//today' as ObjectKey;

/** A part that notes what it is asked. */
function createNotingPart(more: Partial<AgentPart> = {}) {
  const calls: string[] = [];
  const part: CreateAgentPart = (report) => {
    calls.push('begin');
    return {
      configure: ({ ignoredFields }, spreadMs) =>
        void calls.push(`configure ${ignoredFields.length} within ${spreadMs}`),
      settled: async () => {
        calls.push('settled');
        report(reportsOf([madeReport(WEATHER, { rain: true })]));
      },
      load: async () => void calls.push('load'),
      observe: ({ objects }) => void calls.push(`observe ${objects.size}`),
      stop: () => void calls.push('stop'),
      ...more,
    };
  };
  return { calls, part };
}

test('a part begins before the first look at the cluster, and its first report is in the first snapshot', async () => {
  const { calls, part } = createNotingPart();
  const world = await createConnectedWorld(() => [part]);
  expect(calls.slice(0, 5)).toEqual(['begin', 'configure 0 within 0', 'settled', 'load', 'observe 0']);
  expect(world.server.inputs[0]?.objects.get(WEATHER_KEY)?.value.status).toEqual({ rain: true });
  await world.agent.stop();
});

test('a part sees changes of the cluster and of the settings, and ends once', async () => {
  const { calls, part } = createNotingPart();
  const world = await createConnectedWorld(() => [part]);
  calls.length = 0;
  world.cluster.personPuts(keyOf(configMap('a', '1')), configMap('a', '1'));
  await world.settle();
  expect(calls).toContain('observe 1');
  const ignoredFields = [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }];
  world.server.settings({ discovery: { excludedNamespaces: [], excludedKinds: [] }, ignoredFields });
  expect(calls.at(-1)).toBe('configure 1 within undefined');
  await world.agent.stop();
  await world.agent.stop();
  expect(calls.filter((call) => call === 'stop')).toEqual(['stop']);
});

test('parts end if the agent cannot start', async () => {
  const kept = createNotingPart();
  const failing = createNotingPart({ load: () => Promise.reject(new Error('no record')) });
  const world = await createAgentWorld(() => [kept.part, failing.part]);
  await expect(world.agent.start()).rejects.toThrow('no record');
  expect([kept.calls.at(-1), failing.calls.at(-1)]).toEqual(['stop', 'stop']);
});

test('the parts before one that cannot begin end, and the agent says why it cannot start', async () => {
  const begun = createNotingPart({ stop: () => Promise.reject(new Error('not now')) });
  const later = createNotingPart();
  const failing: CreateAgentPart = () => {
    throw new Error('no address');
  };
  const world = await createAgentWorld(() => [begun.part, createNotingPart().part, failing, later.part]);
  await expect(world.agent.start()).rejects.toThrow('no address');
  expect([begun.calls, later.calls]).toEqual([['begin'], []]);
});

/** How parts fail to end. */
const failures: readonly (readonly [string, AgentPart['stop']])[] = [
  [
    'throws',
    () => {
      throw new Error('a defect');
    },
  ],
  ['rejects', () => Promise.reject(new Error('a defect'))],
];

test.each(failures)('a part whose end %s keeps neither the others nor the agent from ending', async (_, fail) => {
  const { calls, part } = createNotingPart();
  const world = await createConnectedWorld(() => [createNotingPart({ stop: fail }).part, part]);
  const gate = Promise.withResolvers<void>();
  world.cluster.writeGate = gate.promise;
  await world.server.say({ upserts: [configMap('a', '1')] });
  let isEnded = false;
  const ending = world.agent.stop().then(() => {
    isEnded = true;
  });
  await world.settle();
  // An object is still being written.
  expect([isEnded, calls.at(-1)]).toEqual([false, 'stop']);
  gate.resolve();
  await ending;
  expect(world.log.lines.map(({ text }) => text)).toContain('error: a part of the agent has not ended well');
});

test('an agent whose cluster was taken over says so also if a part cannot end', async () => {
  const world = await createConnectedWorld(() => [createNotingPart({ stop: failures[0]?.[1] as () => void }).part]);
  world.cluster.takenOver = true;
  await world.server.say({ upserts: [configMap('a', '1')] });
  await world.settle();
  expect(world.takenOver).toEqual([world.server]);
  expect(world.log.lines.map(({ text }) => text)).toContain('error: a part of the agent has not ended well');
});

test('a part that throws keeps no state from the others', async () => {
  let isBroken = false;
  const broken = createNotingPart({
    observe: () => {
      if (isBroken) throw new Error('a defect');
    },
  });
  const { calls, part } = createNotingPart();
  const world = await createConnectedWorld(() => [broken.part, part]);
  isBroken = true;
  world.cluster.personPuts(keyOf(configMap('a', '1')), configMap('a', '1'));
  await world.settle();
  expect(calls).toContain('observe 1');
  await world.agent.stop();
});

test('the last look of an agent asks every part', async () => {
  const looks: string[] = [];
  const looking = (name: string): CreateAgentPart =>
    createNotingPart({
      lastLook: async () => looks.push(name) === 0,
    }).part;
  const world = await createConnectedWorld(() => [looking('a'), createNotingPart().part, looking('b')]);
  await world.agent.reportOutage();
  expect(looks).toEqual(['a', 'b']);
  await world.agent.stop();
});
