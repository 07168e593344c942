import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld } from '../../../../support/care-world.ts';
import { controlPlaneComponent } from '../../../../support/control-plane.ts';

const PODS = '/Pod/kube-system';
const PROBE = 'internal.fleetrelay.dev/TunnelProbe//tunnel';
const API_SERVER = `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`;
const WORKERS = '{seedName: seed, provider: {workers: [{name: a, minimum: 1, maximum: 1}]}}';
const tunnelPod = (phase: string): JsonObject => ({ metadata: { labels: { type: 'tunnel' } }, status: { phase } });

function world(spec = WORKERS) {
  const made = careWorld(spec);
  made.wrote();
  made.live('seed', API_SERVER, controlPlaneComponent('controlplane'));
  return {
    ...made,
    put: (key: string, value?: JsonObject) => made.live('blue', key, value),
    found() {
      const { status, reason, message } = made.condition('SystemComponentsHealthy') ?? expect.fail();
      return [status, reason, message];
    },
  };
}

const RUNNING = ['True', 'SystemComponentsRunning', 'All system components are healthy.'];
const MISSING = [...['False', 'NoTunnelDeployed'], 'no tunnels are currently deployed to perform health-check on'];
const broken = (why: string) => [
  ...['False', 'TunnelConnectionBroken'],
  `Tunnel connection has not been established (${why})`,
];

describe('the tunnel', () => {
  test('needs a Pod with its label in kube-system that runs', () => {
    const { put, found } = world();
    put('/Pod/web/vpn-shoot', tunnelPod('Running'));
    put(`${PODS}/other`, { metadata: { labels: { type: 'other' } }, status: { phase: 'Running' } });
    expect(found()).toEqual(MISSING);
    put(`${PODS}/vpn-shoot-0`, tunnelPod('Pending'));
    expect(found()).toEqual(broken('no running vpn-shoot pod found yet in the shoot cluster'));
    put(`${PODS}/vpn-shoot-1`, tunnelPod('Running'));
    expect(found()).toEqual(RUNNING);
    put(`${PODS}/vpn-shoot-1`);
    put(`${PODS}/vpn-shoot-0`);
    expect(found()).toEqual(MISSING);
  });

  test('is broken while the agent cannot connect', () => {
    const { put, found } = world();
    put(`${PODS}/vpn-shoot-0`, tunnelPod('Running'));
    put(PROBE, { status: { pod: 'vpn-shoot-0', connected: false, error: 'timeout' } });
    expect(found()).toEqual(broken('timeout'));
    put(PROBE, { status: { pod: 'vpn-shoot-0', connected: true } });
    expect(found()).toEqual(RUNNING);
    put(PROBE);
    expect(found()).toEqual(RUNNING);
  });

  test('is not needed without workers, and not judged without a Seed', () => {
    const { spec, found } = world('{seedName: seed}');
    expect(found()).toEqual(RUNNING);
    spec('{provider: {workers: [{name: a, minimum: 1, maximum: 1}]}}');
    expect(found()).toEqual(RUNNING);
  });

  test('is unknown while Pods cannot be seen', () => {
    const { kind, policy, found } = world();
    kind('blue', '/Pod', { state: 'unknown', message: 'forbidden' });
    expect(found()).toEqual(['Unknown', 'ConditionCheckError', 'Pod of cluster blue cannot be listed: forbidden']);
    policy('{discovery: {excludedNamespaces: [kube-system]}}');
    const excluded = 'namespace kube-system of cluster blue is left out of discovery by the FleetPolicy';
    expect(found()).toEqual(['Unknown', 'ConditionCheckError', excluded]);
  });
});

describe('while the API server does not run', () => {
  test.each<[string, JsonObject | undefined, string]>([
    ['before the first operation', undefined, 'Shoot control plane has not been fully created yet.'],
    ['in Create', operation('Create'), 'Shoot control plane has not been fully created yet.'],
    ['in Delete', operation('Delete'), 'Shoot control plane has already been or is about to be deleted.'],
    ['in Reconcile', operation('Reconcile'), 'Shoot control plane is not running at the moment.'],
    ['in Restore', operation('Restore'), 'Shoot control plane is not running at the moment.'],
  ])('%s nothing is known of the system', (_name, fields, message) => {
    const { engine, live, wrote, found } = world();
    live('seed', API_SERVER);
    if (fields === undefined) engine.inputs.observed.delete('Shoot', 'garden-web/blue');
    else wrote(fields);
    engine.commit();
    expect(found()).toEqual(['Unknown', 'ConditionCheckError', message]);
  });

  test.each<[string, JsonObject]>([
    ['has no replicas', { ...controlPlaneComponent('controlplane'), spec: { replicas: 0 } }],
    ['does not say how many replicas it has', { ...controlPlaneComponent('controlplane'), spec: {} }],
    ['is being deleted', controlPlaneComponent('controlplane', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('its Deployment %s', (_name, deployment) => {
    const { live, wrote, found, condition } = world();
    wrote(operation('Reconcile'));
    live('seed', API_SERVER, deployment);
    expect(found()[2]).toBe('Shoot control plane is not running at the moment.');
    expect(condition('APIServerAvailable')?.reason).toBe('APIServerDown');
  });

  test('a Deployment that cannot be seen says nothing', () => {
    const { kind, found, condition } = world();
    kind('seed', 'apps/Deployment', { state: 'unknown', message: 'forbidden' });
    const unseen = ['Unknown', 'ConditionCheckError', 'Deployment of cluster seed cannot be listed: forbidden'];
    expect(found()).toEqual(unseen);
    expect(condition('APIServerAvailable')?.message).toBe(unseen[2]);
  });
});

function operation(type: string): JsonObject {
  return { lastOperation: { type, state: 'Succeeded', lastUpdateTime: '2026-01-01T00:00:00Z' } };
}
