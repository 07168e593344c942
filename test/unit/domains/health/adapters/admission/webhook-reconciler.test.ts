import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KubeAnswer, KubeClient, KubeRequest } from '../../../../../../src/adapters/kubernetes/api/types.ts';
import {
  ConflictError,
  createWebhookReconciler,
} from '../../../../../../src/domains/health/adapters/admission/webhook-reconciler.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../../../src/model/text/json.ts';
import { silentLog } from '../../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const SECRET = '/api/v1/namespaces/fleetrelay/secrets/fleetrelay-agent-webhook';
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/fleetrelay-agent';
const SETTINGS = {
  applicationProbeProxyPort: 9101,
  virtualProbesEnabled: false,
  virtualProbesPort: 9000,
  failurePolicy: 'Ignore',
} as const;

/** An API server with one Secret and one configuration. */
function api(configured = true) {
  const objects = new Map<string, JsonObject>();
  let version = 1;
  const writes: KubeRequest[] = [];
  let before: ((request: KubeRequest) => void) | undefined;
  const put = (path: string, object: JsonObject): JsonObject => {
    version += 1;
    const stored = { ...object, metadata: { ...objectOf(object.metadata), resourceVersion: String(version) } };
    objects.set(path, stored);
    return stored;
  };
  const webhooks = ['a', 'b'].map((name) => ({ name, failurePolicy: 'Fail', clientConfig: { url: 'https://x' } }));
  if (configured) put(CONFIGURATION, { metadata: { name: 'fleetrelay-agent' }, webhooks });
  const refused = (status: number, reason: string): KubeAnswer => ({
    type: 'refused',
    status,
    refusal: { reason, message: reason, causes: [] },
  });
  const request = async (asked: KubeRequest): Promise<KubeAnswer> => {
    const found = objects.get(asked.path);
    if (asked.method === 'GET') {
      return found === undefined ? refused(404, 'NotFound') : { type: 'ok', status: 200, body: found };
    }
    before?.(asked);
    writes.push(asked);
    const body = objectOf(asked.body);
    const now = objects.get(asked.path);
    const { resourceVersion } = objectOf(body.metadata);
    if (resourceVersion !== undefined && resourceVersion !== objectOf(now?.metadata).resourceVersion) {
      return refused(409, 'Conflict');
    }
    if (asked.path !== CONFIGURATION) return { type: 'ok', status: 200, body: put(asked.path, { ...now, ...body }) };
    const merged = objectsOf(now?.webhooks).map((hook) => {
      const change = objectsOf(body.webhooks).find(({ name }) => name === hook.name);
      const clientConfig = { ...objectOf(hook.clientConfig), ...objectOf(change?.clientConfig) };
      return { ...hook, ...change, clientConfig };
    });
    return { type: 'ok', status: 200, body: put(asked.path, { ...now, webhooks: merged }) };
  };
  const client: KubeClient = {
    server: 'memory',
    request,
    watch: async () => ({ type: 'closed' }),
    close: async () => {},
  };
  return {
    client,
    writes,
    put,
    object: (path: string): JsonObject => objects.get(path) ?? {},
    text: (member: string): string =>
      Buffer.from(textOf(objectOf(objects.get(SECRET)?.data)[member]), 'base64').toString(),
    beforeWrite: (act: (request: KubeRequest) => void) => {
      before = act;
    },
  };
}

const options = {
  namespace: 'fleetrelay',
  configuration: 'fleetrelay-agent',
  service: 'fleetrelay-agent-webhook',
  secret: 'fleetrelay-agent-webhook',
  caLifeMs: 24 * 60 * 60 * 1000,
};

function reconcilerOn(server: ReturnType<typeof api>, clock = createVirtualClock()) {
  return createWebhookReconciler({ clock, log: silentLog, client: server.client }, options);
}

describe('what the replicas of a webhook share', () => {
  it('is written by the leader, told to the API server, and read by the others', async () => {
    const server = api();
    const [leader, other] = [reconcilerOn(server), reconcilerOn(server)];
    await expect(other.follow()).rejects.toThrow(/Secret fleetrelay\/fleetrelay-agent-webhook is not there/);
    leader.receive(SETTINGS);
    await leader.keep(server.client);
    expect(leader.isConfigured()).toBe(true);
    for (const hook of objectsOf(server.object(CONFIGURATION).webhooks)) {
      expect(hook).toMatchObject({ failurePolicy: 'Ignore', clientConfig: { url: 'https://x' } });
      const caBundle = Buffer.from(textOf(objectOf(hook.clientConfig).caBundle), 'base64').toString();
      expect(caBundle).toBe(server.text('ca.crt'));
    }
    await other.follow();
    expect(other.settings()).toEqual(SETTINGS);
    expect(await other.served()).toEqual(await leader.served());
    expect(await other.served()).toBeDefined();
  });

  it('is written only when it changes', async () => {
    const server = api();
    const leader = reconcilerOn(server);
    await leader.keep(server.client);
    const { length } = server.writes;
    await leader.keep(server.client);
    await reconcilerOn(server).keep(server.client);
    expect(server.writes).toHaveLength(length);
  });

  it('keeps what others have written into the Secret', async () => {
    const server = api();
    server.put(SECRET, { metadata: { name: 'fleetrelay-agent-webhook' }, data: { mine: 'eA==' } });
    await reconcilerOn(server).keep(server.client);
    expect(objectOf(server.object(SECRET).data)).toMatchObject({ mine: 'eA==', 'tls.crt': expect.any(String) });
  });

  it('is never overwritten where another replica was first', async () => {
    const server = api();
    const [one, two] = [reconcilerOn(server), reconcilerOn(server)];
    let isFirst = true;
    server.beforeWrite(({ method }) => {
      if (method !== 'PUT' || !isFirst) return;
      isFirst = false;
      server.put(SECRET, { ...server.object(SECRET), data: { mine: 'eA==' } });
    });
    await expect(one.keep(server.client)).rejects.toBeInstanceOf(ConflictError);
    await two.keep(server.client);
    const authority = server.text('ca.crt');
    await one.keep(server.client);
    expect(server.text('ca.crt')).toBe(authority);
    expect(await one.served()).toEqual(await two.served());
    expect(objectOf(server.object(SECRET).data).mine).toBe('eA==');
  });

  it('is set back when others change caBundle or failurePolicy', async () => {
    const server = api();
    const leader = reconcilerOn(server);
    await leader.keep(server.client);
    const set = server.object(CONFIGURATION);
    const changed = objectsOf(set.webhooks).map((hook) => ({ ...hook, failurePolicy: 'Ignore', clientConfig: {} }));
    server.put(CONFIGURATION, { ...set, webhooks: changed });
    await leader.keep(server.client);
    for (const hook of objectsOf(server.object(CONFIGURATION).webhooks)) {
      expect(hook.failurePolicy).toBe('Fail');
      expect(objectOf(hook.clientConfig).caBundle).toBe(Buffer.from(server.text('ca.crt')).toString('base64'));
    }
  });

  it('has an authority that was never published while the configuration is missing', async () => {
    const server = api(false);
    const leader = reconcilerOn(server);
    await leader.keep(server.client);
    expect(leader.isConfigured()).toBe(false);
    expect(JSON.parse(server.text('announced.json'))).toEqual({});
    expect(await leader.served()).toBeDefined();
  });

  it('has the old and the new authority in caBundle before the new one signs', async () => {
    const server = api();
    const clock = createVirtualClock();
    const leader = reconcilerOn(server, clock);
    await leader.keep(server.client);
    await clock.advance(17 * 60 * 60 * 1000);
    await leader.keep(server.client);
    const bundle = textOf(objectOf(objectsOf(server.object(CONFIGURATION).webhooks)[0]?.clientConfig).caBundle);
    const authorities = Buffer.from(bundle, 'base64').toString();
    expect(authorities.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    const before = await leader.served();
    await clock.advance(59_000);
    await leader.keep(server.client);
    expect(await leader.served()).toEqual(before);
    await clock.advance(2_000);
    await leader.keep(server.client);
    expect(await leader.served()).not.toEqual(before);
    expect(server.text('ca.crt')).toBe(authorities);
  });

  it('reads a damaged Secret as empty', async () => {
    const server = api();
    const data = { 'ca.crt': 'LS0t', 'tls.crt': 'eA==', 'tls.key': 'eA==', 'settings.json': 'e30=' };
    server.put(SECRET, { metadata: {}, data });
    const reconciler = reconcilerOn(server);
    await reconciler.keep(server.client);
    expect(reconciler.settings().applicationProbeProxyPort).toBe(9001);
    expect(await reconciler.served()).toBeDefined();
  });

  it('makes no certificate where the operator brings one, and leaves caBundle to others without its authority', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-webhook-'));
    const [certFile, keyFile, caFile] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(certFile, 'certificate');
    writeFileSync(keyFile, 'key');
    writeFileSync(caFile, 'authority');
    const server = api();
    const bundles = () =>
      objectsOf(server.object(CONFIGURATION).webhooks).map(({ clientConfig }) => objectOf(clientConfig).caBundle);
    const deps = { clock: createVirtualClock(), log: silentLog, client: server.client };
    const reconciler = createWebhookReconciler(deps, { ...options, files: { certFile, keyFile } });
    reconciler.receive(SETTINGS);
    await reconciler.keep(server.client);
    expect(await reconciler.served()).toEqual({ certificate: 'certificate', key: 'key' });
    expect(server.text('tls.crt')).toBe('');
    expect(server.text('settings.json')).toContain('9101');
    expect(bundles()).toEqual([undefined, undefined]);
    expect(objectsOf(server.object(CONFIGURATION).webhooks)).toMatchObject([
      { failurePolicy: 'Ignore' },
      { failurePolicy: 'Ignore' },
    ]);
    const trusting = createWebhookReconciler(deps, { ...options, files: { certFile, keyFile, caFile } });
    await trusting.keep(server.client);
    const authority = Buffer.from('authority').toString('base64');
    expect(bundles()).toEqual([authority, authority]);
    writeFileSync(certFile, 'renewed');
    expect(await trusting.served()).toEqual({ certificate: 'renewed', key: 'key' });
    rmSync(folder, { recursive: true });
  });
});
