import { expect, it } from 'vitest';
import { whyNot } from '../../../src/engine/explain/why-not.ts';
import type { Engine } from '../../../src/engine/graph.ts';
import { revisionStatus } from '../../../src/engine/status/rollout.ts';
import type { ObjectResult } from '../../../src/model/agent/agent.ts';
import {
  displayKey,
  isStatusKey,
  type ObjectKey,
  objectKey,
  objectRefOf,
  parseObjectKey,
  parseOutputKey,
} from '../../../src/model/objects/object-key.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { clusterYaml, placementYaml } from '../../support/manifests.ts';
import { flowerYaml, statusDomain, statusOf } from '../../support/status-domain.ts';

const ROSE = statusOf('rose');
const GARDEN = objectKey({ group: '', kind: 'Namespace', namespace: '', name: 'garden' });

/** A cluster whose agent takes statuses, unless `agent` says otherwise. */
function world({ takesStatuses = true, domain = statusDomain() } = {}) {
  const made = createEngineWorld([domain]);
  const { engine, file } = made;
  const isHere = { connected: true, problem: '', warm: true, assumedWarm: false, kindsAsWritten: false, since: 1 };
  engine.inputs.agents.set('', 'east', { ...isHere, ...(takesStatuses ? { takesStatuses } : {}) });
  file('east.yaml', clusterYaml('east'));
  file('rose.yaml', flowerYaml('rose', 'east'));
  file('all.yaml', placementYaml('all', '**'));
  engine.commit();
  return made;
}

/** The cluster has taken what is to be sent of the key, and its agent reports this. */
function deliver(engine: Engine, key: ObjectKey, result: Partial<ObjectResult> = {}): void {
  const output = engine.outputs.get('east', key);
  if (output?.type !== 'object') throw new Error('there is nothing to deliver');
  const { digest, origins, scope } = output;
  engine.inputs.ledger.set('east', key, { digest, origins, scope, phase: 'accepted' });
  engine.inputs.results.set('east', key, { key, digest, state: 'applied', reason: '', message: '', ...result });
  engine.commit();
}

const statusOfCluster = (engine: Engine) => engine.statuses.get('KubernetesCluster', 'east');

it('its key is parsed as the key of an output, and names its object', () => {
  expect(ROSE).toBe('example.com/Flower/garden/rose/status');
  expect(parseOutputKey(ROSE)).toEqual({ ok: true, value: ROSE });
  expect(parseObjectKey(ROSE).ok).toBe(false);
  expect(parseOutputKey('example.com/Flower/gar den/rose/status').ok).toBe(false);
  expect(objectRefOf(ROSE)).toMatchObject({ namespace: 'garden', name: 'rose' });
  expect(displayKey(ROSE)).toBe('status of Flower.example.com/garden/rose');
  expect(isStatusKey(objectKey({ group: '', kind: 'ConfigMap', namespace: 'web', name: 'status' }))).toBe(false);
});

it('progress counts it apart from objects, for clusters, Placements and revisions', () => {
  const { engine } = world();
  const none = { targeted: 0, applied: 0, failed: 0, held: 0, pending: 0, unreachable: 0 };
  deliver(engine, ROSE);
  const counted = { counts: none, statuses: { total: 1, applied: 1, failed: 0 } };
  expect(statusOfCluster(engine)?.fields).toEqual(counted);
  expect(engine.statuses.get('Placement', 'all')?.fields).toMatchObject(counted);
  expect(revisionStatus(engine)).toMatchObject({ ...counted, targeted: 0 });
  deliver(engine, ROSE, { state: 'failed', message: 'no right' });
  const failed = { counts: none, statuses: { total: 1, applied: 0, failed: 1 } };
  expect(statusOfCluster(engine)?.fields).toEqual(failed);
  expect(engine.statuses.get('Placement', 'all')?.fields).toMatchObject(failed);
  const ready = statusOfCluster(engine)?.conditions.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({ status: 'True', message: '0 of 0 applied, 1 status failed' });
});

it('without one there is nothing of statuses in the counts', () => {
  const { engine, file } = world();
  file('rose.yaml', null);
  engine.commit();
  expect(statusOfCluster(engine)?.fields).not.toHaveProperty('statuses');
  expect(engine.statuses.get('Placement', 'all')?.fields).not.toHaveProperty('statuses');
});

it('its end needs no approval, and keeps no Namespace', () => {
  const { engine, file } = world();
  engine.inputs.lastKnownGood.drop('');
  file(
    'policy.yaml',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {guards: {maxRemovalsPerCluster: 0}}\n',
  );
  file('garden.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata: {name: garden}\n');
  engine.commit();
  deliver(engine, ROSE);
  deliver(engine, GARDEN);
  // The status stays while the Namespace of its object goes: no status is in it.
  file('garden.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', GARDEN)).toMatchObject({ type: 'held' });
  engine.inputs.approvals.set('east', GARDEN, true);
  engine.commit();
  expect(engine.outputs.get('east', GARDEN)?.type).toBe('remove');
  file('rose.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', ROSE)?.type).toBe('remove');
});

it('an agent without the capability gets none, and people are told why', () => {
  const { engine } = world({ takesStatuses: false });
  expect(engine.outputs.get('east', ROSE)).toMatchObject({ type: 'absent', reason: 'StatusesNotTaken' });
  expect([...engine.pending.entries('east')]).toEqual([]);
  const name = { kind: 'Flower', namespace: 'garden', name: 'rose' };
  expect(whyNot(engine, 'east', name)).toMatchObject({ key: ROSE, reasons: [{ reason: 'StatusesNotTaken' }] });
  expect(statusOfCluster(engine)?.fields).toMatchObject({ statuses: { total: 1, applied: 0, failed: 0 } });
});

it('an agent that has lost the capability keeps what it has, also when the output ends', () => {
  const { engine, file } = world();
  deliver(engine, ROSE);
  const { takesStatuses: _, ...agent } = engine.inputs.agents.get('', 'east') ?? {};
  engine.inputs.agents.set('', 'east', agent as Parameters<typeof engine.inputs.agents.set>[2]);
  file('rose.yaml', null);
  engine.commit();
  expect(engine.outputs.get('east', ROSE)).toMatchObject({ type: 'keep', reason: 'StatusesNotTaken' });
});

it('a value with more than a status is not sent', () => {
  const spec = world({ domain: statusDomain({ spec: {} }) });
  expect(spec.engine.outputs.get('east', ROSE)).toMatchObject({
    ...{ type: 'absent', reason: 'InvalidStatus' },
    message: "it has spec, and a status has nothing but its object's name and the status",
  });
  const other = world({ domain: statusDomain({ metadata: { name: 'tulip', namespace: 'garden' } }) });
  expect(other.engine.outputs.get('east', ROSE)).toMatchObject({ reason: 'InvalidStatus' });
});
