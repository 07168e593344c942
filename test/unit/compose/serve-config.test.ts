import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ServeOptions } from '../../../src/compose/options.ts';
import { resolveServeConfig } from '../../../src/compose/serve/config.ts';
import { parseFleetName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';

const plain: ServeOptions = { tlsName: [], relaySecretFile: [], logLevel: 'info' };

async function sourcesOf(options: Partial<ServeOptions>, cwd = '/work'): Promise<readonly unknown[]> {
  const { sources } = await resolveServeConfig({ ...plain, ...options }, { cwd, env: {} });
  return sources.map(({ kinds: _kinds, pollIntervalSeconds: _seconds, ...rest }: Record<string, unknown>) => rest);
}

/** The rights of the first source. */
const rightsOf = (first: string) => ({ kinds: ['*'], labelKeys: ['*'], meshes: ['*'], files: [first] });

describe('custom resources by flags', () => {
  it('are the last source, beside a repository or folder', async () => {
    expect(await sourcesOf({ folder: 'fleet', customResources: true })).toEqual([
      { type: 'files', name: 'main', path: '/work/fleet' },
      { type: 'kubernetes', name: 'custom-resources', allow: rightsOf('main') },
    ]);
  });

  it('can be the only source', async () => {
    const kubeconfig = 'admin.conf';
    expect(await sourcesOf({ customResources: true, kubeconfig, context: 'here', namespace: 'fleet' })).toEqual([
      {
        type: 'kubernetes',
        name: 'custom-resources',
        kubeconfig: `/work/${kubeconfig}`,
        context: 'here',
        namespaces: ['fleet'],
      },
    ]);
    await expect(sourcesOf({})).rejects.toThrow('--custom-resources');
  });

  it("replace the file's if the flags name a cluster", async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      const file = join(folder, 'relay.yaml');
      const sources = '[{name: custom, kubernetes: {kubeconfig: k}}, {name: fleet, files: {path: f}}]';
      await writeFile(
        file,
        `apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\nfleet: {name: a}\nsources: ${sources}\n`,
      );
      const files = { type: 'files', name: 'fleet', path: join(folder, 'f') };
      expect(await sourcesOf({ config: file })).toEqual([
        files,
        { type: 'kubernetes', name: 'custom', kubeconfig: join(folder, 'k') },
      ]);
      expect(await sourcesOf({ config: file, customResources: true })).toEqual([
        files,
        { type: 'kubernetes', name: 'custom', allow: rightsOf('fleet'), kubeconfig: join(folder, 'k') },
      ]);
      expect(await sourcesOf({ config: file, customResources: true, namespace: 'fleet' })).toEqual([
        files,
        { type: 'kubernetes', name: 'custom-resources', allow: rightsOf('fleet'), namespaces: ['fleet'] },
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

const resolved = (options: Partial<ServeOptions>, env: Readonly<Record<string, string>> = {}) =>
  resolveServeConfig({ ...plain, folder: 'fleet', ...options }, { cwd: '/work', env });

describe('the connection of agents', () => {
  const generated = { type: 'generated', names: [] };
  it('is mutual TLS by default', async () => {
    const clients = { type: 'issued', lifetimeSeconds: 7_776_000 };
    expect((await resolved({})).relay.tls).toEqual({ mode: 'mtls', certificate: generated, clients });
    expect((await resolved({ tlsCertFile: 'a', tlsKeyFile: 'b' })).relay.tls).toEqual({
      mode: 'mtls',
      certificate: { type: 'files', certFile: '/work/a', keyFile: '/work/b', caFile: '/work/a' },
      clients,
    });
    expect((await resolved({ insecure: true })).relay.tls).toEqual({ mode: 'insecure', confirmed: false });
    expect((await resolved({ insecure: true, insecureListenAnywhere: true })).relay.tls).toEqual({
      mode: 'insecure',
      confirmed: true,
    });
  });

  it('honours the environment variables of Gloo setups', async () => {
    const name = 'RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION';
    expect((await resolved({}, { [name]: 'true' })).relay.tls).toEqual({ mode: 'tls', certificate: generated });
    expect((await resolved({}, { [name]: 'false' })).relay.tls.mode).toBe('mtls');
    expect((await resolved({ insecure: true }, { [name]: 'true' })).relay.tls.mode).toBe('insecure');
    await expect(resolved({}, { [name]: 'yes' })).rejects.toThrow(`${name} must be true or false`);
    const shared = { type: 'env', name: 'RELAY_TOKEN' };
    expect((await resolved({}, { RELAY_TOKEN: 'abc' })).relay.sharedToken).toEqual(shared);
    expect((await resolved({}, { RELAY_TOKEN: '' })).relay.sharedToken).toBeUndefined();
  });
});

describe('the store by flags', () => {
  const redis = { type: 'redis', redis: { nodes: ['r:1'] } };
  const read = { type: 'redis', nodes: [{ host: 'r', port: 1 }], database: 0, prefix: 'fleetrelay' };
  it('determines whether there may be several replicas', async () => {
    expect(await resolved({})).toMatchObject({ store: { type: 'sqlite' }, replicas: { mode: 'one' } });
    expect(await resolved({ store: { type: 'sqlite', path: 'a' } })).toMatchObject({ store: { path: '/work/a' } });
    expect(await resolved({ store: redis, storePasswordFile: 'p' })).toMatchObject({
      store: { ...read, password: { type: 'file', path: '/work/p' } },
      replicas: { mode: 'several' },
    });
    expect(await resolved({ store: redis, replicas: 'one' })).toMatchObject({ replicas: { mode: 'one' } });
    const advertise = 'server-0.example.com:9980';
    expect(await resolved({ store: redis, advertise })).toMatchObject({ replicas: { mode: 'several', advertise } });
    await expect(resolved({ replicas: 'several' })).rejects.toThrow('--store redis://HOST:PORT');
    await expect(resolved({ storePasswordFile: 'p' })).rejects.toThrow('--store-password-file');
  });
});

describe('a flag', () => {
  async function withFile(fields: string, options: Partial<ServeOptions>) {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    const file = join(folder, 'relay.yaml');
    const header = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\n';
    const config = `${header}fleet: {name: a}\nsources: [{name: main, git: {url: "https://x/y"}}]\n${fields}`;
    await writeFile(file, config);
    try {
      return await resolveServeConfig({ ...plain, config: file, ...options }, { cwd: '/work', env: {} });
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  it('wins over the file, and changes no other field', async () => {
    const fields =
      'http: {listen: {port: 1}, people: [{name: ann, role: read, tokenEnv: ANN}]}\ndataDirectory: /data\n';
    const listen = { host: '::', port: 2 };
    expect(await withFile(fields, { http: listen, fleet: must(parseFleetName('b')) })).toMatchObject({
      fleet: 'b',
      statusGit: { branch: 'fleetrelay/status/b' },
      dataDirectory: '/data',
      http: { listen: { address: '::', port: 2 }, people: [{ name: 'ann' }] },
      metrics: { listen: { port: 9981 } },
    });
  });

  it('for a store also replaces the mode of the replicas', async () => {
    const store = { type: 'redis', redis: { nodes: ['r'] } };
    const { replicas } = await withFile('replicas: {mode: one, lease: kubernetes}\n', { store });
    expect(replicas).toEqual({ mode: 'several', lease: 'kubernetes' });
  });

  it('for a certificate also replaces the mode insecure, and another certificate', async () => {
    const insecure = 'relay: {tls: {mode: insecure, insecureListenAnywhere: true}}\n';
    expect((await withFile(insecure, { tlsName: ['x'] })).relay.tls).toMatchObject({
      mode: 'mtls',
      certificate: { type: 'generated', names: ['x'] },
    });
    const given = 'relay: {tls: {mode: tls, certificate: {certFile: a, keyFile: b, caFile: c}}}\n';
    expect((await withFile(given, { tlsName: ['x'] })).relay.tls).toEqual({
      mode: 'tls',
      certificate: { type: 'generated', names: ['x'] },
    });
  });

  it('for a password file also replaces the password of the environment', async () => {
    const store = 'store: {type: redis, redis: {nodes: [r], passwordEnv: P}}\n';
    expect((await withFile(store, { storePasswordFile: 'p' })).store).toMatchObject({
      password: { type: 'file', path: '/work/p' },
    });
  });

  it('is checked as the file is, and the error names the field', async () => {
    await expect(resolveServeConfig({ ...plain, repo: 'git@x:y' }, { cwd: '/work', env: {} })).rejects.toThrow(
      'sources[0].git: an SSH address needs ssh, with keyFile and knownHostsFile',
    );
  });
});

describe('paths in the file', () => {
  it('are all relative to its folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      const file = join(folder, 'relay.yaml');
      const document = {
        apiVersion: 'fleetrelay.dev/v1alpha1',
        kind: 'RelayConfig',
        fleet: { name: 'a' },
        dataDirectory: './rel',
        sources: [
          {
            name: 'fleet',
            git: {
              url: './rel',
              caFile: './rel',
              credentials: { usernameFile: './rel', tokenFile: './rel' },
              hook: { secretFile: './rel' },
            },
          },
          { name: 'files', files: { path: './rel' } },
          { name: 'custom', kubernetes: { kubeconfig: './rel' } },
        ],
        store: {
          type: 'redis',
          redis: {
            nodes: ['r'],
            passwordFile: './rel',
            sentinel: { master: 'm', passwordFile: './rel' },
            tls: { caFile: './rel', certFile: './rel', keyFile: './rel' },
          },
        },
        relay: {
          secrets: [{ secretFile: './rel' }],
          sharedToken: { tokenFile: './rel' },
          tls: {
            certificate: { certFile: './rel', keyFile: './rel', caFile: './rel' },
            clients: { signing: { certFile: './rel', keyFile: './rel' } },
          },
        },
        http: {
          people: [{ name: 'a', role: 'read', tokenFile: './rel' }],
          tls: { certFile: './rel', keyFile: './rel', clientCaFile: './rel' },
        },
        audit: { file: './rel' },
        status: { git: { url: './rel' } },
      };
      await writeFile(file, JSON.stringify(document));
      const config = JSON.stringify(await resolveServeConfig({ ...plain, config: file }, { cwd: '/work', env: {} }));
      expect(config).not.toContain('"./rel"');
      expect(config.split(`"${join(folder, 'rel')}"`)).toHaveLength(1 + 26);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('the token of a flag belongs to a person of its own', async () => {
    const { http } = await resolved({ apiTokenFile: 't' });
    expect(http.people).toEqual([{ name: 'token', role: 'operate', token: { type: 'file', path: '/work/t' } }]);
  });
});
