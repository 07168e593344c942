import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld } from '../../../../support/care-world.ts';
import { controlPlaneComponent } from '../../../../support/control-plane.ts';

/** Constraints that are there only while they do not hold, and that need no API server. */

const WORKERS = 'seedName: seed, provider: {workers: [{name: a}, {name: b}]}';
const API_SERVER = `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`;
const resource = (name: string) => `resources.gardener.cloud/ManagedResource/${CONTROL_PLANE}/${name}`;
const deployment = (name: string, namespace = CONTROL_PLANE) =>
  `machine.sapcloud.io/MachineDeployment/${namespace}/${name}`;
const ignored = (value: string): JsonObject => ({
  metadata: { annotations: { 'resources.gardener.cloud/ignore': value } },
});
const preserved = (preservedFailedReplicas: number): JsonObject => ({ status: { preservedFailedReplicas } });

function world(spec = `{${WORKERS}}`) {
  const made = careWorld(spec);
  made.live('seed', API_SERVER, controlPlaneComponent('controlplane'));
  made.wrote();
  return {
    ...made,
    constraint: (type: string) => made.status()?.conditionLists?.constraints?.find((each) => each.type === type),
    types: () => (made.status()?.conditionLists?.constraints ?? []).map(({ type }) => type),
  };
}
const REQUIRED = ['HibernationPossible', 'MaintenancePreconditionsSatisfied'];

describe('HasIgnoredManagedResources', () => {
  const TYPE = 'HasIgnoredManagedResources';

  test.each(['true', 'True', 'TRUE', '1', 't', 'T'])('names what has the annotation with the value %s', (value) => {
    const { live, constraint } = world();
    live('seed', resource('web'), ignored(value));
    live('seed', resource('dns'), ignored(value));
    live('seed', resource('fine'), { metadata: {} });
    expect(constraint(TYPE)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'ManagedResourcesIgnored' },
      message:
        'The annotation resources.gardener.cloud/ignore switches the reconciliation of some ManagedResources off: dns, web',
    });
    live('seed', resource('web'));
    live('seed', resource('dns'), ignored('false'));
    expect(constraint(TYPE)).toBeUndefined();
  });

  test.each(['false', 'yes', 'TrUe', ''])('is absent with the value "%s"', (value) => {
    const { live, types } = world();
    live('seed', resource('web'), ignored(value));
    live('seed', `resources.gardener.cloud/ManagedResource/shoot--web--green/x`, ignored('true'));
    expect(types()).toEqual(REQUIRED);
  });

  test('stays while the Shoot sleeps, and while its API server is down', () => {
    const { live, spec, types } = world();
    live('seed', resource('web'), ignored('true'));
    spec(`{${WORKERS}, hibernation: {enabled: true}}`);
    expect(types()).toEqual([
      ...REQUIRED,
      ...['CACertificateValiditiesAcceptable', 'CRDsWithProblematicConversionWebhooks', TYPE],
    ]);
    spec(`{${WORKERS}}`);
    live('seed', API_SERVER);
    expect(types()).toEqual([...REQUIRED, TYPE]);
  });

  test('is Progressing while the Shoot is created, and Unknown if ManagedResources cannot be listed', () => {
    const { live, wrote, kind, constraint } = world();
    live('seed', resource('web'), ignored('true'));
    wrote({ lastOperation: { type: 'Create', state: 'Processing' } });
    expect(constraint(TYPE)).toMatchObject({ status: 'Progressing', reason: 'ManagedResourcesIgnored' });
    live('seed', resource('web'));
    wrote();
    kind('seed', 'resources.gardener.cloud/ManagedResource', { state: 'unknown', message: 'forbidden' });
    expect(constraint(TYPE)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
  });
});

describe('PreservedFailedMachinesAbsent', () => {
  const TYPE = 'PreservedFailedMachinesAbsent';

  test('counts the Machines of all MachineDeployments of the control plane', () => {
    const { live, constraint } = world();
    live('seed', deployment('a'), preserved(1));
    live('seed', deployment('b'), preserved(2));
    live('seed', deployment('c', 'shoot--web--green'), preserved(4));
    expect(constraint(TYPE)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'FailedMachinesPreserved' },
      message: 'Cluster has 3 preserved failed machine(s).',
    });
    live('seed', deployment('a'), preserved(0));
    live('seed', deployment('b'), {});
    expect(constraint(TYPE)).toBeUndefined();
  });

  test('is absent without workers and while the Shoot sleeps, and stays while its API server is down', () => {
    const { live, spec, types } = world();
    live('seed', deployment('a'), preserved(1));
    live('seed', API_SERVER);
    expect(types()).toEqual([...REQUIRED, TYPE]);
    spec('{seedName: seed}');
    expect(types()).toEqual(REQUIRED);
    spec(`{${WORKERS}, hibernation: {enabled: true}}`);
    expect(types()).not.toContain(TYPE);
  });

  test('is Unknown if MachineDeployments cannot be listed', () => {
    const { kind, constraint } = world();
    kind('seed', 'machine.sapcloud.io/MachineDeployment', { state: 'unknown', message: 'forbidden' });
    expect(constraint(TYPE)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
  });
});

describe('ManualInPlaceWorkersUpdated', () => {
  const TYPE = 'ManualInPlaceWorkersUpdated';
  const pending = (...manualInPlaceUpdate: readonly string[]) => ({
    inPlaceUpdates: { pendingWorkerUpdates: { manualInPlaceUpdate, autoInPlaceUpdate: ['c'] } },
  });

  test('names the pools that wait for a person', () => {
    const { wrote, constraint } = world();
    wrote(pending('a', 'b'));
    expect(constraint(TYPE)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'WorkerPoolsWithManualInPlaceUpdateStrategyPending' },
      message: 'Worker pools with the update strategy ManualInPlaceUpdate wait for their update: a, b',
    });
    wrote(pending());
    expect(constraint(TYPE)).toBeUndefined();
  });

  test('is absent without workers and while the Shoot sleeps', () => {
    const { wrote, spec, types } = world('{seedName: seed}');
    wrote(pending('a'));
    expect(types()).toEqual(REQUIRED);
    spec(`{${WORKERS}, hibernation: {enabled: true}}`);
    expect(types()).not.toContain(TYPE);
    spec(`{${WORKERS}}`);
    expect(types()).toContain(TYPE);
  });
});

test('constraints have the order of Gardener', () => {
  const { live, wrote, types } = world();
  live('seed', deployment('a'), preserved(1));
  live('seed', resource('web'), ignored('true'));
  wrote({ inPlaceUpdates: { pendingWorkerUpdates: { manualInPlaceUpdate: ['a'] } } });
  expect(types()).toEqual([
    ...REQUIRED,
    ...['ManualInPlaceWorkersUpdated', 'HasIgnoredManagedResources', 'PreservedFailedMachinesAbsent'],
  ]);
});
