import { beforeEach, describe, expect, it } from 'vitest';
import { type DeclaredStatus, statusPathOf } from '../../../../../src/engine/status/declared-status.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { dataplaneYaml, inbound, pod, stageLive } from './support.ts';

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
});

const PROBED = { serviceProbe: { tcp: {} } };

function declare(mesh = 'default', name = 'db-07'): void {
  const networking = { address: '10.0.0.4', inbound: [inbound('postgres', 5432, PROBED), inbound('metrics', 9090)] };
  world.file('dataplane.yaml', dataplaneYaml({ mesh, name, networking }));
}

function connect(connected: boolean): void {
  world.engine.domainInputs.health?.connections?.set('', 'default/db-07', { connected, since: 1_767_603_600_000 });
}

function report(isHealthy: boolean): void {
  const workloads = { '10.0.0.4:5432': isHealthy };
  const value = { envoyHealthy: true, envoySince: 1_767_603_660_000, workloads };
  world.engine.domainInputs.health?.reports?.set('', 'default/db-07', value);
}

function statuses(): readonly DeclaredStatus[] {
  world.engine.commit();
  return [...world.engine.statuses.entries('Dataplane')].map(({ value }) => value);
}

function healthy(): unknown {
  return statuses()[0]?.conditions.find(({ type }) => type === 'Healthy');
}

describe('the status of a declared data plane', () => {
  it('is not known before anything was reported', () => {
    declare();
    expect(healthy()).toMatchObject({ status: 'Unknown', reason: 'NotReported' });
    expect(statuses()[0]?.fields).toMatchObject({ status: 'Offline', connection: { state: 'never' } });
  });

  it('follows connection and reports', () => {
    declare();
    connect(true);
    const notes = ['inbound[port=5432,svc=postgres] is not ready'];
    expect(healthy()).toMatchObject({ status: 'False', reason: 'PartiallyDegraded', message: notes[0] });
    expect(statuses()[0]?.fields).toEqual({
      ...{ status: 'Partially degraded', notes },
      connection: { state: 'connected', since: '2026-01-05T09:00:00Z' },
    });
    report(true);
    expect(healthy()).toEqual({ type: 'Healthy', status: 'True', reason: 'Online', message: '' });
    connect(false);
    expect(healthy()).toMatchObject({ status: 'False', reason: 'Offline', message: 'the proxy is not connected' });
  });

  it('is known from a report, although the connection is not', () => {
    declare();
    report(false);
    expect(healthy()).toMatchObject({ status: 'False', reason: 'Offline' });
  });

  it('has a change only if something in it has changed', () => {
    declare();
    connect(true);
    report(true);
    statuses();
    const watched = world.engine.graph.watch(world.engine.statuses);
    report(true);
    connect(true);
    statuses();
    expect(watched.take()).toEqual([]);
    report(false);
    statuses();
    expect(watched.take()).toHaveLength(1);
  });

  it('has a path by mesh and name', () => {
    declare();
    expect(statuses().map(({ path }) => path)).toEqual(['dataplanes/default/db-07.yaml']);
  });

  it.each([
    ['..', '..', 'dataplanes/%2e%2e/%2e%2e.yaml'],
    ['a/b', 'Web@x', 'dataplanes/a%2fb/%57eb%40x.yaml'],
  ])('of mesh %s and name %s stays in its folder', (mesh, name, path) => {
    expect(statusPathOf('Dataplane', `${name}@${mesh}`, { namespace: '', name })).toBe(path);
  });

  it('has the general path in the Kubernetes form', () => {
    const document = {
      ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default' },
      metadata: { name: 'web', namespace: 'demo' },
      spec: { networking: { address: '10.0.0.4', inbound: [inbound('web', 80)] } },
    };
    world.file('dataplane.yaml', JSON.stringify(document));
    expect(statuses().map(({ path }) => path)).toEqual(['declared/Dataplane/demo/web.yaml']);
    expect(healthy()).toMatchObject({ status: 'Unknown' });
  });

  it('is not derived of Pods', () => {
    world.file('east.yaml', 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n');
    stageLive(world.engine, 'east', pod());
    expect(statuses()).toEqual([]);
  });
});
