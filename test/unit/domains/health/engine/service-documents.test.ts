import { beforeEach, describe, expect, it } from 'vitest';
import { health } from '../../../../../src/domains/health/engine/health.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { dataplaneYaml, inbound } from './support.ts';

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
});

function declare(name: string, isReady: boolean, { mesh = 'default', service = 'postgres' } = {}): void {
  const networking = { address: '10.0.0.4', inbound: [{ ...inbound(service, 5432), ...(isReady ? {} : NOT_READY) }] };
  world.file(`${mesh}-${name}.yaml`, dataplaneYaml({ mesh, name, networking }));
}

const NOT_READY = { state: 'NotReady' };

function connect(name: string, connected: boolean): void {
  world.engine.domainInputs.health?.connections?.set('', `default/${name}`, { connected, since: 1_767_603_600_000 });
}

function documents(): Readonly<Record<string, JsonObject>> {
  world.engine.commit();
  const found = world.engine.reported(health)?.report.documents?.of.entries('') ?? [];
  return Object.fromEntries([...found].map(({ key, value }) => [key, value]));
}

function postgres(): JsonObject | undefined {
  return documents()['services/default/postgres.yaml'];
}

describe('the file of a service on the status branch', () => {
  it('says what get services says, and which data planes are not online, with their evidence', () => {
    declare('db-1', true);
    declare('db-2', false);
    for (const name of ['db-1', 'db-2']) connect(name, true);
    expect(postgres()).toEqual({
      ...{ mesh: 'default', name: 'postgres', status: 'partially_degraded', serviceType: 'internal', zones: [] },
      dataplanes: { total: 2, online: 1, offline: 1 },
      endpoints: { ready: 1, total: 2 },
      notOnline: [
        {
          ...{ name: 'db-2', status: 'Offline', notes: ['inbound[port=5432,svc=postgres] is not ready'] },
          connection: { state: 'connected', since: '2026-01-05T09:00:00Z' },
        },
      ],
    });
  });

  it('names the other data plane when one recovers while another fails, although the numbers stay', () => {
    declare('db-1', true);
    declare('db-2', true);
    connect('db-1', true);
    expect(postgres()?.notOnline).toMatchObject([{ name: 'db-2' }]);
    connect('db-1', false);
    connect('db-2', true);
    expect(postgres()?.notOnline).toMatchObject([{ name: 'db-1', connection: { state: 'disconnected' } }]);
  });

  it('names at most twenty, and counts all', () => {
    for (let number = 10; number < 35; number += 1) declare(`db-${number}`, false);
    const { notOnline, dataplanes } = postgres() ?? {};
    expect(new Set((notOnline as readonly JsonObject[]).map(({ name }) => name)).size).toBe(20);
    expect(dataplanes).toEqual({ total: 25, online: 0, offline: 25 });
  });

  it('has a name that stays in its folder, and one for each spelling', () => {
    declare('a', true, { mesh: 'default', service: '..' });
    declare('c', true, { mesh: 'default', service: 'Web' });
    declare('d', true, { mesh: 'default', service: 'web' });
    expect(Object.keys(documents()).sort()).toEqual([
      'services/default/%2e%2e.yaml',
      'services/default/%57eb.yaml',
      'services/default/web.yaml',
    ]);
  });

  it('is gone with the last data plane of the service', () => {
    declare('db-1', true);
    expect(postgres()).toBeDefined();
    declare('db-1', true, { service: 'mysql' });
    expect(Object.keys(documents())).toEqual(['services/default/mysql.yaml']);
  });
});
