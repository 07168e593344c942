import { execFile } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createCertificateRequests } from '../../src/adapters/tls/certificate-requests.ts';
import type { TokenUse } from '../../src/relay/trust/tokens.ts';
import { type Fleet, PROGRAM, startFleet, tokenFor, until } from '../support/fleet-processes.ts';
import { contentsOf } from '../support/folder-contents.ts';
import { testInLong, testOften } from '../support/long-tests.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { createTestAuthority, DAY_MS } from '../support/test-authority.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
};
/** Fleet and source are what the command line says. */
const CONFIG = `apiVersion: fleetrelay.dev/v1alpha1
kind: RelayConfig
fleet: {name: test}
sources: [{name: fleet, git: {url: "https://git.example.com/fleet.git"}}]
`;

let fleet: Fleet;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trust-'));
});

afterEach(async () => {
  await fleet?.stop();
  rmSync(folder, { recursive: true });
});

/** Starts the server with this under `relay.tls` of its configuration; it may be changed before the next start. */
async function start(tls?: string, more: readonly string[] = []): Promise<void> {
  const config = tls === undefined ? [] : ['--config', configure(tls)];
  fleet = await startFleet(files, { serve: [...config, ...more] });
}

function configure(tls: string): string {
  return configureRelay(`{tls: ${tls}}`);
}

function configureRelay(relay: string): string {
  const path = join(folder, 'relay.yaml');
  writeFileSync(path, `${CONFIG}relay: ${relay}\n`);
  return path;
}

const east = () => fleet.agent('east');
const own = (): string => join(fleet.sandbox.path, 'clusters', 'east', '.fleetrelay');
const lines = (logs: readonly Readonly<Record<string, unknown>>[], message: string) =>
  logs.filter((line) => line.message === message);
const issued = (proof: 'token' | 'certificate'): number =>
  lines(fleet.server.logs, 'relay: a client certificate was issued').filter((line) => line.proof === proof).length;
const links = (): number => lines(east().logs, 'relay: connected').length;

function linked(times: number): Promise<true> {
  return until(`the agent has connected ${times} times`, () => links() >= times || undefined, 60_000);
}

/** The agent has written down what the server has issued to it for a token. */
function saved(times: number): Promise<true> {
  const enrolled = (): number => lines(east().logs, 'relay: enrolled').length;
  return until(`the agent has saved ${times} certificates`, () => enrolled() >= times || undefined);
}

function said(reason: string, logs = east().logs): Promise<unknown> {
  return until(`${reason} is logged`, () => logs.find((line) => line.reason === reason));
}

function inSync(text: string): Promise<true> {
  return until(`the cluster holds ${text}`, async () => {
    const found = await fleet.live('east', 'ConfigMap/web/a');
    return found?.includes(text) === true || undefined;
  });
}

function stored(): { readonly key: string; readonly certificate: string; readonly roots: string } {
  // The first line names the format.
  const [, line = ''] = readFileSync(join(own(), 'credentials'), 'utf8').split('\n');
  return JSON.parse(line.slice(line.indexOf(' ')));
}

function push(text: string): void {
  fleet.push({ 'apps/a.yaml': configMapYaml('a', text) });
}

/** The token file of the agent from now on. */
async function withToken(text: string): Promise<{ readonly args: readonly string[] }> {
  const path = join(folder, 'token');
  writeFileSync(path, text);
  return { args: ['--token-file', path] };
}

describe('an agent and its certificate', () => {
  testOften('enrols once; from then on only the certificate counts, also after both ends were killed', async () => {
    await start();
    await east().start();
    await inSync('one');
    expect(issued('token')).toBe(1);
    const { key, certificate } = stored();
    expect(statSync(join(own(), 'credentials')).mode & 0o777).toBe(0o600);
    expect(new X509Certificate(certificate).subjectAltName).toMatch(
      /^DNS:east, URI:spiffe:\/\/test\/cluster\/east\/id\//,
    );
    await east().kill('SIGKILL');
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await east().start(await withToken('frt1_wrong'));
    push('two');
    await inSync('two');
    expect([issued('token'), issued('certificate')]).toEqual([0, 0]);
    expect(stored().certificate).toBe(certificate);
    const secret = key.split('\n')[1] ?? '';
    expect(secret.length).toBeGreaterThan(40);
    const everything = JSON.stringify([fleet.server.logs, east().logs]) + contentsOf(fleet.dataDir);
    expect(everything).not.toContain(secret);
  });

  testInLong('renews over the link that is up, and the link outlives its first certificate', async () => {
    // Of which a third is left when it is renewed: nothing that a busy machine takes.
    await start('{clients: {lifetimeSeconds: 24}}');
    await east().start();
    await inSync('one');
    const first = new X509Certificate(stored().certificate).validToDate.getTime();
    await until('it was renewed twice', () => issued('certificate') >= 2 || undefined);
    await until('the first certificate is over', () => Date.now() > first + 2_000 || undefined, 60_000);
    push('two');
    await inSync('two');
    expect(links()).toBe(1);
    expect(issued('token')).toBe(1);
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await linked(2);
    expect(issued('token'), 'the newest certificate is good').toBe(0);
  });

  testOften('an agent that is killed while it enrols connects again', async () => {
    await start('{clients: {lifetimeSeconds: 10}}');
    const moments = {
      'the server has issued one': () => issued('token') > 0,
      'it is connected': () => links() > 0,
      'the server has renewed it': () => issued('certificate') > 0,
      'it has the new one': () => lines(east().logs, 'relay: the client certificate was renewed').length > 0,
    };
    for (const [what, look] of Object.entries(moments)) {
      await east().start();
      await until(what, look);
      await east().kill('SIGKILL');
    }
    await east().start();
    push('two');
    await inSync('two');
    expect(readdirSync(own())).not.toContain('credentials.corrupt-1');
  });

  testInLong('away past its end it enrols again; stopped past it as well', async () => {
    await start('{clients: {lifetimeSeconds: 10}}');
    await east().start();
    await inSync('one');
    const past = () => {
      const end = new X509Certificate(stored().certificate).validToDate.getTime();
      return until('its certificate is over', () => Date.now() > end + 1_000 || undefined, 60_000);
    };
    east().signal('SIGSTOP');
    await past();
    const enrolled = issued('token');
    east().signal('SIGCONT');
    push('two');
    await inSync('two');
    expect(issued('token')).toBeGreaterThan(enrolled);
    await east().kill('SIGTERM');
    await past();
    const again = issued('token');
    await east().start();
    push('three');
    await inSync('three');
    expect(issued('token')).toBeGreaterThan(again);
  });

  testOften('whose file is damaged says so and enrols again', async () => {
    await start();
    await east().start();
    await inSync('one');
    await east().kill('SIGKILL');
    writeFileSync(join(own(), 'credentials'), 'nonsense');
    await east().start();
    await until('it says so', () => lines(east().logs, 'the stored credentials are damaged and are ignored')[0]);
    push('two');
    await inSync('two');
    expect(issued('token')).toBe(2);
    expect(readFileSync(join(own(), 'credentials.corrupt-1'), 'utf8')).toBe('nonsense');
  });

  testOften('taken out of the fleet and in again: the old certificate is worth nothing', async () => {
    await start();
    await east().start();
    await inSync('one');
    fleet.push({ 'clusters/east/cluster.yaml': null });
    await said('UnknownCluster');
    const before = stored().certificate;
    await east().kill('SIGKILL');
    fleet.push({ 'clusters/east/cluster.yaml': clusterYaml('east') });
    await until('it is declared again', async () => (await fleet.status()).clusters.length === 1 || undefined);
    await east().start(await withToken('frt1_wrong'));
    await said('CertificateRevoked');
    await said('WrongToken');
    expect(stored().certificate, 'nothing better is there').toBe(before);
    await withToken(tokenFor('east', fleet.dataDir));
    push('two');
    await inSync('two');
    expect(stored().certificate).not.toBe(before);
  });

  testInLong(
    'a renewed token: the agent with a certificate goes on, an earlier token enrols no agent, also after a restart',
    async () => {
      await start();
      await east().start();
      await inSync('one');
      const first = tokenFor('east', fleet.dataDir);
      const renewed = await fleet.cli(
        'cluster',
        'token',
        'east',
        '--renew',
        '--data-dir',
        fleet.dataDir,
        '--as',
        'ann',
      );
      expect(renewed).toMatch(/^fre1_[1-9]\d+_\d+__[A-Za-z0-9_-]{43}\n$/);
      push('two');
      await inSync('two');
      expect(links()).toBe(1);
      const audit = readFileSync(join(fleet.dataDir, 'audit.log'), 'utf8').trim().split('\n');
      expect(audit.map((line) => JSON.parse(line))).toMatchObject([
        { stage: 'asked', act: 'clusters/east/renew-token', who: 'ann' },
        { stage: 'done', act: 'clusters/east/renew-token' },
      ]);
      expect(audit.join()).not.toContain('fre1_');
      await east().kill('SIGKILL');
      await fleet.server.kill('SIGKILL');
      await fleet.server.start();
      rmSync(join(own(), 'credentials'));
      await east().start(await withToken(first));
      await said('TokenRenewed');
      expect(issued('token')).toBe(0);
      await withToken(renewed);
      push('three');
      await inSync('three');
      expect(issued('token')).toBe(1);
      const again = ['cluster', 'token', 'east', '--data-dir', fleet.dataDir];
      const printed = await promisify(execFile)(process.execPath, [PROGRAM, ...again], { timeout: 120_000 });
      expect(printed.stdout.split('_')[1], 'of the same generation').toBe(renewed.split('_')[1]);
    },
  );

  testOften('with the token of another cluster it gets nothing', async () => {
    await start();
    await east().start({ token: 'west' });
    await said('WrongToken');
    expect(issued('token')).toBe(0);
    expect(await fleet.live('east', 'ConfigMap/web/a')).toBeUndefined();
    expect(east().logs.find((line) => line.reason === 'WrongToken')).toMatchObject({
      detail: expect.stringContaining('fleetrelay cluster token east'),
    });
  });

  testOften('with the token of the environment it enrols', async () => {
    await start();
    const env = { RELAY_TOKEN: tokenFor('east', fleet.dataDir) };
    await east().start({ env, withoutToken: true });
    await inSync('one');
    expect(issued('token')).toBe(1);
  });
});

describe('what the server is', () => {
  testInLong(
    'without client certificates a connection token is shown; the agent follows the server there and back',
    async () => {
      await start('{mode: tls}');
      await east().start(await withToken(tokenFor('east', fleet.dataDir, 'connection')));
      await inSync('one');
      expect(readdirSync(own())).not.toContain('credentials.corrupt-1');
      const restarted = async (tls: string, text: string, use: TokenUse): Promise<void> => {
        configure(tls);
        await fleet.server.kill('SIGKILL');
        await fleet.server.start();
        await withToken(tokenFor('east', fleet.dataDir, use));
        push(text);
        await inSync(text);
      };
      await restarted('{mode: mtls}', 'two', 'enrolment');
      expect(issued('token')).toBe(1);
      await restarted('{mode: tls}', 'three', 'connection');
      await restarted('{mode: mtls}', 'four', 'connection');
      expect(issued('token'), 'its certificate is still good').toBe(0);
    },
  );

  testOften('by the names of Gloo`s setups', async () => {
    process.env.RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION = 'true';
    try {
      await start();
    } finally {
      delete process.env.RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION;
    }
    await east().start({ use: 'connection' });
    await inSync('one');
    expect(lines(east().logs, 'relay: enrolled')).toEqual([]);
  });

  testInLong('with one relay secret in place of another: both enrol, until the older is taken away', async () => {
    const newer = join(folder, 'newer');
    writeFileSync(newer, randomBytes(32).toString('hex'));
    const secrets = (...paths: string[]): string =>
      configureRelay(`{secrets: [${paths.map((path) => `{secretFile: "${path}"}`).join(', ')}]}`);
    const restarted = async (text: string): Promise<void> => {
      await fleet.server.kill('SIGKILL');
      await fleet.server.start();
      push(text);
      await inSync(text);
    };
    const enrolsAnew = async (token: string): Promise<void> => {
      await east().kill('SIGKILL');
      rmSync(join(own(), 'credentials'));
      await east().start(await withToken(token));
    };
    await start(undefined, ['--config', configureRelay('{}')]);
    await east().start();
    await inSync('one');
    const older = join(fleet.dataDir, 'trust', 'relay-secret');
    const tokens = {
      older: tokenFor('east', fleet.dataDir),
      newer: await fleet.cli('cluster', 'token', 'east', '--relay-secret-file', newer),
    };
    secrets(newer, older);
    await restarted('two');
    expect(issued('token'), 'the certificate from before is good').toBe(0);
    await enrolsAnew(tokens.older);
    await until('it has enrolled by the older one', () => issued('token') === 1 || undefined);
    await saved(2);
    await enrolsAnew(tokens.newer);
    await until('it has enrolled by the newer one', () => issued('token') === 2 || undefined);
    await saved(3);
    secrets(newer);
    await restarted('three');
    expect(issued('token'), 'as it is without the older one').toBe(0);
    await enrolsAnew(tokens.older);
    await said('WrongToken');
  });

  testOften(
    'with the token that all clusters share: it enrols a name that is not bound, and no name that is',
    async () => {
      const shared = 'a-token-that-all-clusters-share';
      process.env.RELAY_TOKEN = shared;
      try {
        await start();
      } finally {
        delete process.env.RELAY_TOKEN;
      }
      const options = await withToken(shared);
      await east().start(options);
      await said('WaitsForAcceptance');
      const asked = JSON.parse(await fleet.cli('cluster', 'list', '-o', 'json'))[0];
      expect(asked).toMatchObject({
        name: 'east',
        waiting: [{ id: expect.any(String), key: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      });
      expect(await fleet.live('east', 'ConfigMap/web/a'), 'nothing is sent before').toBeUndefined();
      await fleet.cli('cluster', 'accept', 'east', '--as', 'ann');
      await inSync('one');
      expect(lines(fleet.server.logs, 'relay: a client certificate was issued')).toMatchObject([{ proof: 'shared' }]);
      await east().kill('SIGKILL');
      await east().start(options);
      push('two');
      await inSync('two');
      await east().kill('SIGKILL');
      rmSync(join(own(), 'credentials'));
      await east().start(options);
      await said('SharedTokenBound');
      await withToken(tokenFor('east', fleet.dataDir));
      push('three');
      await inSync('three');
      expect(issued('token')).toBe(1);
    },
  );

  testOften('without TLS nothing is asked for', async () => {
    await start(undefined, ['--insecure']);
    await east().start({ args: ['--insecure'] });
    await inSync('one');
    expect(readdirSync(own())).not.toContain('credentials');
  });

  testInLong('new roots travel before the old ones end, and outlast the file that the agent was given', async () => {
    const now = Date.now();
    const [before, after] = [
      await createTestAuthority(now - DAY_MS, now + DAY_MS),
      await createTestAuthority(now - DAY_MS, now + DAY_MS),
    ];
    const write = (pair: { readonly certificate: string; readonly key: string }, roots: string): void => {
      writeFileSync(join(folder, 'tls.key'), pair.key);
      writeFileSync(join(folder, 'tls.crt'), pair.certificate);
      writeFileSync(join(folder, 'ca.crt'), roots);
    };
    const old = await before.serverPair(now - DAY_MS, now + DAY_MS);
    write(old, before.root);
    const given = join(folder, 'given.crt');
    writeFileSync(given, before.root);
    await start('{certificate: {certFile: tls.crt, keyFile: tls.key, caFile: ca.crt}}');
    await east().start({ args: ['--ca-file', given] });
    await inSync('one');
    expect(stored().roots).toBe(before.root);
    write(old, `${before.root}${after.root}`);
    await until('the agent knows both', () => stored().roots.includes(after.root) || undefined, 60_000);
    expect(links(), 'no agent has to reconnect for that').toBe(1);
    write(await after.serverPair(now - DAY_MS, now + DAY_MS), after.root);
    const refusal =
      'relay: the server has sent roots that do not lead to the certificate that it has shown: they are ignored';
    // On the link that is up the server has shown its old certificate.
    await until('the new certificate is there', () => lines(east().logs, refusal)[0], 60_000);
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    push('two');
    await inSync('two');
    expect(stored().roots).toBe(after.root);
    await east().kill('SIGKILL');
    await east().start({ args: ['--ca-file', given] });
    push('three');
    await inSync('three');
    expect(issued('token')).toBe(0);
  });

  testOften(
    'certificates of an authority elsewhere: no agent enrols, and a new file counts at the next dial',
    async () => {
      const now = Date.now();
      const authority = await createTestAuthority(now - DAY_MS, now + DAY_MS);
      writeFileSync(join(folder, 'agents.crt'), authority.root);
      const bring = async (...names: string[]): Promise<void> => {
        const { key, request } = await createCertificateRequests().create();
        writeFileSync(join(folder, 'tls.key'), key);
        writeFileSync(
          join(folder, 'tls.crt'),
          await authority.issue(request, { names, from: now - 1, to: now + DAY_MS }),
        );
      };
      await start('{clients: {caFile: agents.crt}}');
      await bring('west');
      const args = ['--cert-file', join(folder, 'tls.crt'), '--key-file', join(folder, 'tls.key')];
      await east().start({ args, withoutToken: true });
      await said('CertificateMismatch');
      await bring('west', 'east');
      await inSync('one');
      expect(readdirSync(own())).not.toContain('credentials');
      await east().kill('SIGKILL');
      await east().start();
      await said('CertificateNeeded');
    },
  );
});

describe('what is refused loudly', () => {
  test.each([
    ['agent', ['agent', '--cluster', 'east', '--server', 'a:1', '--directory', '.', '--token-file', 't']],
    ['serve', ['serve', '--folder', '.', '--fleet', 'test']],
  ])('%s with the variable that would leave the server unchecked', async (_what, args) => {
    const env = { ...process.env, RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION: 'true' };
    const run = promisify(execFile)(process.execPath, [PROGRAM, ...args], { timeout: 120_000, env, cwd: folder });
    const stderr = expect.stringContaining('RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION is set');
    await expect(run).rejects.toMatchObject({ code: 2, stderr });
  });
});
