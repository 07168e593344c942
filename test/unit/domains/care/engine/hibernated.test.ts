import { describe, expect, test } from 'vitest';
import { CONTROL_PLANE, careWorld, SINCE } from '../../../../support/care-world.ts';

const ASLEEP = '{hibernation: {enabled: true}}';
const ASLEEP_WITH_SEED = '{seedName: seed, hibernation: {enabled: true}}';
const SERVER = `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`;
const server = (replicas: number) => ({ spec: { replicas } });

const hibernated = (made: ReturnType<typeof careWorld>) => made.status()?.fields.hibernated;

describe('status.hibernated', () => {
  test('without a Seed: once it is wanted and no Node is left, until there is one again', () => {
    const made = careWorld('{}');
    expect(hibernated(made)).toBe(false);
    made.live('blue', '/Node//a', {});
    made.spec(ASLEEP);
    expect(hibernated(made)).toBe(false);
    made.live('blue', '/Node//a');
    expect(hibernated(made)).toBe(true);
    made.writes();
    made.spec('{}');
    expect(hibernated(made)).toBe(true);
    expect(made.condition('APIServerAvailable')?.reason).toBe('ConditionNotChecked');
    made.live('blue', '/Node//b', {});
    expect(hibernated(made)).toBe(false);
    made.writes();
    expect(made.condition('APIServerAvailable')?.reason).toBe('HealthzRequestSucceeded');
    made.live('blue', '/Node//b');
    expect(hibernated(made)).toBe(false);
  });

  test('with a Seed: while kube-apiserver has no replicas', () => {
    const made = careWorld(ASLEEP_WITH_SEED);
    expect(hibernated(made)).toBe(false);
    made.live('seed', SERVER, server(1));
    expect(hibernated(made)).toBe(false);
    made.live('seed', SERVER, server(0));
    expect(hibernated(made)).toBe(true);
    made.writes();
    made.spec('{seedName: seed}');
    expect(hibernated(made)).toBe(true);
    made.live('seed', SERVER, server(2));
    expect(hibernated(made)).toBe(false);
  });

  test('a kube-apiserver without replicas alone is no hibernation', () => {
    const made = careWorld('{seedName: seed}');
    made.live('seed', SERVER, server(0));
    expect(hibernated(made)).toBe(false);
    expect(made.condition('APIServerAvailable')?.reason).toBe('APIServerDown');
  });

  test('stays as it is while what shows it cannot be read', () => {
    const made = careWorld(ASLEEP);
    made.kind('blue', '/Node', { state: 'unknown', message: 'nodes are forbidden' });
    expect(hibernated(made)).toBe(false);
    made.wrote({ hibernated: true });
    expect(hibernated(made)).toBe(true);
    made.live('blue', '/Node//a', {});
    expect(hibernated(made)).toBe(true);
    made.kind('blue', '/Node', {});
    expect(hibernated(made)).toBe(false);
    made.engine.inputs.snapshots.delete('', 'blue');
    made.engine.commit();
    expect(hibernated(made)).toBe(true);
  });
});

test('Nodes that a selector of the FleetPolicy leaves out are not gone', () => {
  const made = careWorld('{}');
  made.policy('{discovery: {objectSelector: {matchLabels: {team: web}}}}');
  made.spec(ASLEEP);
  expect(hibernated(made)).toBe(false);
  made.policy('{}');
  expect(hibernated(made)).toBe(true);
});

describe('a Shoot that sleeps', () => {
  test('is well although its agent is silent', () => {
    const made = careWorld(ASLEEP);
    made.writes();
    made.connection('blue', false);
    made.passed('silent/blue', SINCE + 200);
    expect(made.condition('APIServerAvailable')).toMatchObject({ status: 'True', reason: 'ConditionNotChecked' });
    expect(new Set(made.constraints().map(({ reason }) => reason))).toEqual(new Set(['ConstraintNotChecked']));
    made.spec('{}');
    made.wrote({ hibernated: false });
    expect(made.condition('APIServerAvailable')?.reason).toBe('StatusUnknown');
  });

  test('stays well when its agent and its snapshot are lost with a store, and Unknown if it was never seen asleep', () => {
    const made = careWorld(ASLEEP);
    made.wrote({ hibernated: true });
    made.engine.inputs.agents.delete('', 'blue');
    made.engine.inputs.snapshots.delete('', 'blue');
    made.engine.commit();
    expect(made.condition('APIServerAvailable')).toMatchObject({ status: 'True', reason: 'ConditionNotChecked' });
    expect(made.constraints()[0]?.reason).toBe('ConstraintNotChecked');
    made.wrote({ hibernated: false });
    expect(made.condition('APIServerAvailable')).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    made.wrote({ hibernated: true });
    made.file('blue.yaml', null);
    made.engine.commit();
    expect(made.condition('APIServerAvailable')?.message).toBe('no KubernetesCluster blue is declared');
  });

  test('names its cluster as one whose agent may be silent', () => {
    const made = careWorld(ASLEEP);
    const asleep = () => made.engine.domains.flatMap(({ parts }) => [...(parts.agents?.asleep?.entries('') ?? [])]);
    expect(asleep()).toEqual([{ partition: '', key: 'blue', value: 'Shoot garden-web/blue is hibernated' }]);
    made.spec('{}');
    expect(asleep()).toEqual([]);
  });

  const lastOperation = (made: ReturnType<typeof careWorld>) => made.status()?.timedFields?.lastOperation;
  const lost = (made: ReturnType<typeof careWorld>) => {
    made.file('clusters/blue/web.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\n');
    made.connection('blue', false);
  };

  test('begins no operation, and ends one that runs', () => {
    const made = careWorld(ASLEEP);
    made.wrote({ hibernated: true });
    lost(made);
    expect(lastOperation(made)).toMatchObject({ type: 'Create', state: 'Succeeded' });
    made.spec('{}');
    expect(lastOperation(made)).toMatchObject({ type: 'Reconcile', state: 'Processing' });
    const running = { type: 'Reconcile', state: 'Processing', lastUpdateTime: '2026-01-01T00:00:00Z' };
    made.spec(ASLEEP);
    made.wrote({ hibernated: true, lastOperation: running });
    made.file('clusters/blue/web.yaml', null);
    made.engine.commit();
    expect(lastOperation(made)).toMatchObject({ type: 'Reconcile', state: 'Succeeded' });
  });
});
