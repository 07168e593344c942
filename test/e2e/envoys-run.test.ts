import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DataplaneRun, startDataplaneRun } from '../support/dataplane-run.ts';
import { startApplication } from '../support/envoy.ts';
import { askAt, dataplaneToken, startEnvoyFleet, untilDataplane, untilEndpoints } from '../support/envoy-fleet.ts';
import { type Fleet, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noProgram, programPath } from '../support/programs.ts';

describe.skipIf(noProgram('envoy'))('fleetrelay dataplane run', () => {
  let fleet: Fleet;
  let application: Awaited<ReturnType<typeof startApplication>>;
  let ports: Record<'xds' | 'inbound' | 'outbound' | 'db' | 'web', number>;
  let temporary: string;
  const runs = new Map<string, DataplaneRun>();

  beforeAll(async () => {
    application = await startApplication('postgres', await freePort());
    ports = {
      ...{ xds: await freePort(), inbound: await freePort(), outbound: await freePort() },
      ...{ db: await freePort(), web: await freePort() },
    };
    fleet = await startEnvoyFleet(`0.0.0.0:${ports.xds}`, { ...ports, application: application.port });
    temporary = join(fleet.sandbox.path, 'temporary');
    mkdirSync(temporary);
    for (const name of ['db', 'web']) writeFileSync(tokenFile(name), `${await tokenOf(name)}\n`);
  });
  afterAll(async () => {
    for (const run of runs.values()) {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) run.signal(signal);
      await run.ended;
    }
    await application?.stop().catch(() => undefined);
    await fleet?.stop();
  });

  const tokenFile = (name: string): string => join(fleet.sandbox.path, `${name}.token`);
  const tokenOf = (name: string): Promise<string> => dataplaneToken(fleet, name);
  const start = (
    name: string,
    {
      token = name,
      args = [],
      envoy = programPath('envoy'),
    }: { token?: string; args?: readonly string[]; envoy?: string } = {},
  ): DataplaneRun => {
    const trust = ['--token-file', tokenFile(token), '--ca-file', join(fleet.dataDir, 'trust/ca.crt')];
    const run = startDataplaneRun(
      [`default/${name}`, '--api', fleet.server.http(), ...trust, ...args, '--', '--concurrency', '1'],
      { ENVOY: envoy, TMPDIR: temporary },
    );
    runs.set(name, run);
    return run;
  };
  const dataplane = (name: string, state: string, status: string) => untilDataplane(fleet, name, state, status);
  const endpoints = (count: number) => untilEndpoints(fleet, count);

  test('the application is reached through both Envoys, as long as it is healthy', async () => {
    const [db, web] = [start('db'), start('web')];
    await db.during(dataplane('db', 'connected', 'Online'));
    await web.during(dataplane('web', 'connected', 'Online'));
    await until('traffic flows', async () => (await askAt('127.0.0.1', ports.outbound)) === 'postgres');
    await application.stop();
    await endpoints(0);
    await until('nothing answers', async () => {
      const clusters = await (await fetch(`http://127.0.0.1:${ports.web}/clusters`)).text();
      return !clusters.includes('127.0.0.2');
    });
    application = await startApplication('postgres', application.port);
    await endpoints(1);
    await until('traffic flows again', async () => (await askAt('127.0.0.1', ports.outbound)) === 'postgres');
  });

  test('the token is in no file of the run, nor at the admin interface', async () => {
    const token = await tokenOf('db');
    const shown = await (await fetch(`http://127.0.0.1:${ports.db}/config_dump`)).text();
    expect(shown).toContain('dataplane_token');
    expect(shown).not.toContain(token);
  });

  test('after the first signal its inbounds leave the set, connections are served, and Envoy ends after the drain time', async () => {
    runs.get('db')?.signal('SIGTERM');
    runs.get('db')?.signal('SIGTERM');
    expect(await runs.get('db')?.ended).toBe(0);
    await dataplane('db', 'disconnected', 'Offline');
    const run = start('db', { args: ['--drain-time', '5s'] });
    await run.during(dataplane('db', 'connected', 'Online'));
    await endpoints(1);
    run.signal('SIGTERM');
    const began = performance.now();
    await endpoints(0);
    await dataplane('db', 'draining', 'Offline');
    expect(await askAt('127.0.0.2', ports.inbound)).toBe('postgres');
    expect(await run.ended).toBe(0);
    const seconds = (performance.now() - began) / 1_000;
    expect(seconds).toBeGreaterThan(4.5);
    expect(run.line('Envoy drains')).toMatchObject({ seconds: 5 });
    expect(run.line('Envoy has ended')).toMatchObject({ how: 'exit code 0' });
    // Of the other run.
    expect(readdirSync(temporary)).toHaveLength(1);
    await dataplane('db', 'disconnected', 'Offline');
  });

  test('the second signal ends the wait', async () => {
    const run = start('db', { args: ['--drain-time', '1h'] });
    await run.during(dataplane('db', 'connected', 'Online'));
    run.signal('SIGINT');
    await endpoints(0);
    run.signal('SIGTERM');
    expect(await run.ended).toBe(0);
  });

  test('an Envoy that ends by itself ends the run with its exit code', async () => {
    const run = start('db');
    const { pid } = await run.until('Envoy is started');
    await run.during(dataplane('db', 'connected', 'Online'));
    process.kill(Number(pid), 'SIGKILL');
    expect(await run.ended).toBe(137);
    expect(run.line('Envoy has ended by itself')).toMatchObject({ how: 'SIGKILL' });
    const refused = start('db', { args: ['--', '--no-such-flag'] });
    expect(await refused.ended).toBe(1);
    expect(refused.line('Envoy has ended by itself')).toMatchObject({ how: 'exit code 1' });
  });

  test('a run that is killed by a third signal leaves no Envoy behind', async () => {
    const run = start('db', { args: ['--drain-time', '1h'] });
    const { pid } = await run.until('Envoy is started');
    process.kill(Number(pid), 'SIGSTOP');
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      run.signal(signal);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(await run.ended).toBe(130);
    await until('Envoy is gone', () => {
      try {
        process.kill(Number(pid), 0);
        return false;
      } catch {
        return true;
      }
    });
    expect(readdirSync(temporary)).toHaveLength(1);
  });

  test('the token of another data plane is refused', async () => {
    await dataplane('db', 'disconnected', 'Offline');
    start('db', { token: 'web', args: ['--drain-time', '0s'] });
    await until('the refusal is counted', async () => {
      const metrics = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
      return /fleetrelay_xds_refusals_total\{reason="WrongToken"\} [1-9]/.test(metrics);
    });
    await dataplane('db', 'disconnected', 'Offline');
    runs.get('db')?.signal('SIGTERM');
    expect(await runs.get('db')?.ended).toBe(0);
  });

  test('what cannot be started says why', async () => {
    const missing = start('db', { envoy: join(temporary, 'none') });
    expect(await missing.ended).toBe(1);
    expect(missing.said()).toContain(`cannot start Envoy: ${join(temporary, 'none')} does not exist; install Envoy`);
    const tokenless = start('db', { token: 'none' });
    expect(await tokenless.ended).toBe(1);
    expect(tokenless.said()).toContain('cannot read the token');
    const unknown = start('gone', { token: 'db' });
    expect(await unknown.ended).toBe(5);
  });

  test('a run waits for its server', async () => {
    await fleet.server.kill('SIGTERM');
    const stopped = start('db');
    await stopped.until('waiting for the server');
    stopped.signal('SIGTERM');
    expect(await stopped.ended).toBe(0);
    expect(stopped.line('Envoy is started')).toBeUndefined();
    const run = start('db');
    await run.until('waiting for the server');
    await fleet.server.start();
    await run.during(dataplane('db', 'connected', 'Online'));
    expect(run.line('Envoy is started')).toMatchObject({ dataplane: 'default/db', admin: `127.0.0.1:${ports.db}` });
  });
});
