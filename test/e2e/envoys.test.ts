import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRelaySecret } from '../../src/adapters/tls/relay-secret.ts';
import { dataplaneSubject } from '../../src/model/dataplane.ts';
import { clusterToken } from '../../src/relay/trust/tokens.ts';
import { type EnvoyProcess, noEnvoy, startApplication, startEnvoy } from '../support/envoy.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';

interface Row {
  readonly name: string;
  readonly status: string;
  readonly notes: readonly string[];
  readonly connection: { readonly state: string; readonly since?: string };
}

describe.skipIf(noEnvoy)('real Envoys', () => {
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
    fleet = await startFleet(
      {
        'db.yaml': `type: Dataplane
mesh: default
name: db
networking:
  address: 127.0.0.2
  admin: {port: ${ports.admins[0]}}
  inbound:
  - port: ${ports.inbound}
    serviceAddress: 127.0.0.1
    servicePort: ${application.port}
    serviceProbe: {interval: 0.2s, timeout: 1s, tcp: {}}
    tags: {kuma.io/service: postgres}
`,
        'web.yaml': `type: Dataplane
mesh: default
name: web
networking:
  address: 127.0.0.3
  admin: {port: ${ports.admins[1]}}
  outbound:
  - {port: ${ports.outbound}, tags: {kuma.io/service: postgres}}
`,
      },
      { serve: ['--xds', `127.0.0.1:${ports.xds}`], serverEnv: { KUMA_DP_SERVER_HDS_INTERVAL: '500ms' } },
    );
  });
  afterAll(async () => {
    for (const envoy of envoys.values()) await envoy.kill();
    await application?.stop().catch(() => undefined);
    await fleet?.stop();
  });

  const rows = async <Value>(view: string): Promise<readonly Value[]> => {
    const answer = await fetch(`${fleet.server.http()}/api/v1/views/${view}`);
    return ((await answer.json()) as { readonly items: readonly Value[] }).items;
  };
  const dataplane = (name: string, state: string, status: string) =>
    until(`${name} is ${state} and ${status}`, async () => {
      const row = (await rows<Row>('dataplanes')).find((one) => one.name === name);
      return row?.connection.state === state && row.status === status ? row : undefined;
    });
  const endpoints = (count: number) =>
    until(`the service has ${count} endpoints`, async () => (await rows('endpoints')).length === count);
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
  const tokenOf = async (name: string): Promise<string> =>
    clusterToken(await readRelaySecret(join(fleet.dataDir, 'trust/relay-secret')), dataplaneSubject(`default/${name}`));
  /** What the outbound of the second Envoy answers; empty: it has no endpoint. */
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      let said = '';
      const socket = connect(ports.outbound, '127.0.0.1');
      socket.on('data', (text) => {
        said += text.toString();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(said));
    });

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
      expect(await rows('endpoints')).toHaveLength(1);
      await start('db');
      await dataplane('db', 'connected', 'Online');
    }
  });

  test('an Envoy that is stopped is disconnected once it has not answered for a while', async () => {
    envoys.get('db')?.signal('SIGSTOP');
    await dataplane('db', 'disconnected', 'Offline');
    expect(await rows('endpoints')).toHaveLength(1);
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
        (await rows<Row>('dataplanes')).find(({ name }) => name === 'db'),
      );
      expect(seen).toEqual(before);
      expect(await rows('endpoints')).toHaveLength(1);
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
