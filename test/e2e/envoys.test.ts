import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EnvoyProcess, startApplication, startEnvoy } from '../support/envoy.ts';
import {
  askAt,
  type DataplaneRow,
  dataplaneToken,
  rowsOf,
  startEnvoyFleet,
  untilDataplane,
  untilEndpoints,
} from '../support/envoy-fleet.ts';
import { type Fleet, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noProgram } from '../support/programs.ts';

describe.skipIf(noProgram('envoy'))('real Envoys', () => {
  let fleet: Fleet;
  let application: Awaited<ReturnType<typeof startApplication>>;
  let ports: {
    readonly xds: number;
    readonly inbound: number;
    readonly outbound: number;
    readonly admins: readonly number[];
  };
  const envoys = new Map<string, EnvoyProcess>();

  beforeAll(async () => {
    application = await startApplication('postgres', await freePort());
    ports = {
      ...{ xds: await freePort(), inbound: await freePort(), outbound: await freePort() },
      admins: [await freePort(), await freePort()],
    };
    const [db = 0, web = 0] = ports.admins;
    fleet = await startEnvoyFleet(`127.0.0.1:${ports.xds}`, { ...ports, db, web, application: application.port });
  });
  afterAll(async () => {
    for (const envoy of envoys.values()) await envoy.kill();
    await application?.stop().catch(() => undefined);
    await fleet?.stop();
  });

  const dataplane = (name: string, state: string, status: string) => untilDataplane(fleet, name, state, status);
  const endpoints = (count: number) => untilEndpoints(fleet, count);
  const start = async (name: 'db' | 'web', shown?: string): Promise<EnvoyProcess> => {
    const token = shown ?? (await tokenOf(name));
    const envoy = await startEnvoy(join(fleet.sandbox.path, 'envoys'), {
      ...{ node: `default.${name}`, xdsPort: ports.xds, token },
      adminPort: ports.admins[name === 'db' ? 0 : 1] ?? 0,
      caFile: join(fleet.dataDir, 'trust/ca.crt'),
      ...(name === 'db'
        ? { inbounds: [{ address: '127.0.0.2', port: ports.inbound, servicePort: application.port }] }
        : { outbounds: [{ port: ports.outbound, service: 'postgres' }] }),
    });
    envoys.set(name, envoy);
    return envoy;
  };
  const tokenOf = (name: string): Promise<string> => dataplaneToken(fleet, name);
  /** What the outbound of the second Envoy answers; empty: it has no endpoint. */
  const ask = (): Promise<string> => askAt('127.0.0.1', ports.outbound);

  test('the endpoint of an application follows its health, and traffic follows the endpoint', async () => {
    expect((await dataplane('db', 'never', 'Offline')).notes).toEqual([
      `inbound[port=${ports.inbound},svc=postgres] is not ready`,
    ]);
    await start('db');
    await dataplane('db', 'connected', 'Online');
    await endpoints(1);
    await start('web');
    await dataplane('web', 'connected', 'Online');
    await until('traffic flows', async () => (await ask()) === 'postgres');

    await application.stop();
    await dataplane('db', 'connected', 'Offline');
    await endpoints(0);
    await until('the second Envoy has no endpoint', async () => {
      const clusters = (await envoys.get('web')?.admin('/clusters?format=json')) ?? '';
      return !clusters.includes('127.0.0.2');
    });
    application = await startApplication('postgres', application.port);
    await endpoints(1);
    await until('traffic flows again', async () => (await ask()) === 'postgres');
  });

  test('an Envoy that fails its own health check drains: its inbounds leave the set, and come back', async () => {
    await envoys.get('db')?.admin('/healthcheck/fail', 'POST');
    await dataplane('db', 'draining', 'Offline');
    await endpoints(0);
    await envoys.get('db')?.admin('/healthcheck/ok', 'POST');
    await dataplane('db', 'connected', 'Online');
    await endpoints(1);
  });

  test('an Envoy that ends is disconnected at once, and its endpoint stays', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await envoys.get('db')?.kill(signal);
      await dataplane('db', 'disconnected', 'Offline');
      expect(await rowsOf(fleet, 'endpoints')).toHaveLength(1);
      await start('db');
      await dataplane('db', 'connected', 'Online');
    }
  });

  test('an Envoy that is stopped is disconnected once it has not answered for a while', async () => {
    envoys.get('db')?.signal('SIGSTOP');
    await dataplane('db', 'disconnected', 'Offline');
    expect(await rowsOf(fleet, 'endpoints')).toHaveLength(1);
    envoys.get('db')?.signal('SIGCONT');
    await dataplane('db', 'connected', 'Online');
  });

  test('a server that was killed knows health and connections again, and traffic flows meanwhile', async () => {
    const before = await dataplane('db', 'connected', 'Online');
    // The first one writes what it knows before it ends; the second one has just learned nothing new.
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await fleet.server.kill(signal);
      expect(await ask()).toBe('postgres');
      await fleet.server.start();
      // The Envoys have not all come back yet.
      const seen = await until('the repository was read', async () =>
        (await rowsOf<DataplaneRow>(fleet, 'dataplanes')).find(({ name }) => name === 'db'),
      );
      expect(seen).toEqual(before);
      expect(await rowsOf(fleet, 'endpoints')).toHaveLength(1);
    }
    await application.stop();
    await endpoints(0);
    application = await startApplication('postgres', application.port);
    await endpoints(1);
    expect(await dataplane('db', 'connected', 'Online')).toEqual(before);
  });

  test('a wrong token and the token of another data plane are refused, and counted', async () => {
    await envoys.get('db')?.kill();
    await dataplane('db', 'disconnected', 'Offline');
    await start('db', await tokenOf('web'));
    await until('the refusal is counted', async () => {
      const metrics = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
      return /fleetrelay_xds_refusals_total\{reason="WrongToken"\} [1-9]/.test(metrics);
    });
    await dataplane('db', 'disconnected', 'Offline');
    await envoys.get('db')?.kill();
    await start('db');
    await dataplane('db', 'connected', 'Online');
  });
});
