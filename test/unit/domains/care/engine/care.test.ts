import { expect, it } from 'vitest';
import { documentsOf } from '../../../../support/decoding.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';

const KEY = 'garden-web/blue';
const shoot =
  'apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: {}\n';
const SINCE = 1_767_225_600;

function world(agent: { readonly connected: boolean }) {
  const made = createEngineWorld();
  made.file('blue.yaml', clusterYaml('blue'));
  made.file('shoot.yaml', shoot);
  const isHere = { since: SINCE * 1000, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  made.engine.inputs.agents.set('', 'blue', { ...isHere, ...agent });
  made.engine.inputs.snapshots.set('', 'blue', { since: SINCE * 1000 });
  made.engine.commit();
  return made;
}

it('a finding holds until the agent has been silent for five monitor periods, and again when it is back', () => {
  const { engine } = world({ connected: false });
  const condition = () => engine.statuses.get('Shoot', KEY)?.conditions[0];
  expect(condition()).toMatchObject({ type: 'APIServerAvailable', status: 'True' });
  expect(engine.deadlines.get('care', 'silent/blue')).toEqual({ at: SINCE + 200 });
  engine.inputs.elapsed.set('care', 'silent/blue', SINCE + 200);
  engine.commit();
  expect(condition()).toMatchObject({ status: 'Unknown', reason: 'StatusUnknown' });
  const agent = engine.inputs.agents.get('', 'blue') ?? expect.fail();
  engine.inputs.agents.set('', 'blue', { ...agent, connected: true });
  engine.commit();
  expect(condition()?.status).toBe('True');
  expect(engine.deadlines.get('care', 'silent/blue')).toBeUndefined();
});

it('without an input snapshot of the Seed no control plane is found to be missing', () => {
  const { engine, file } = world({ connected: true });
  file('seed.yaml', clusterYaml('seed'));
  file('shoot.yaml', shoot.replace('spec: {}', 'spec: {seedName: seed}'));
  engine.inputs.agents.set('', 'seed', engine.inputs.agents.get('', 'blue') ?? expect.fail());
  engine.commit();
  const condition = () => engine.statuses.get('Shoot', KEY)?.conditions[0];
  expect(condition()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
  expect(condition()?.message).toBe('no input snapshot of cluster seed is here');
  engine.inputs.snapshots.set('', 'seed', { since: SINCE * 1000 });
  engine.commit();
  expect(condition()?.reason).toBe('APIServerDown');
});

it('what the API server says is cut, and the message tells so', () => {
  const { engine } = world({ connected: true });
  const value = { status: { code: 500, body: 'x'.repeat(1_000_000) } };
  const key = 'internal.fleetrelay.dev/ApiServerProbe//healthz';
  engine.inputs.live.set('blue', key as never, { key, value, digest: 'probe' } as never);
  engine.commit();
  const message = engine.statuses.get('Shoot', KEY)?.conditions[0]?.message ?? '';
  expect(message.length).toBeLessThan(2_300);
  expect(message).toContain('cut, 1000000 characters');
});

it('a Shoot of a Gardener is never written', () => {
  const { engine } = world({ connected: true });
  engine.inputs.observed.set('Shoot', KEY, { conditions: [], fields: { gardener: { name: 'gardenlet-1' } } });
  engine.commit();
  expect(engine.statuses.get('Shoot', KEY)).toMatchObject({ isOfOthers: true, conditions: [], fields: {} });
});

it.each([
  ['0.5s', 'is not between 1s and 720h'],
  ['721h', 'is not between 1s and 720h'],
  ['soon', 'is no duration'],
])('the policy refuses a threshold of %s', (duration, why) => {
  const text = `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {care: {conditionThresholds: [{type: EveryNodeReady, duration: ${duration}}]}}\n`;
  expect(() => documentsOf(text)).toThrow(why);
});
