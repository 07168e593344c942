import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { dump, load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { leaseReportOf, MOST_NAMED_LEASES } from '../../../../../src/domains/care/model/lease-report.ts';
import { parseObjectKey } from '../../../../../src/model/objects/object-key.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';
import { declaredDocument, nothingWritten } from '../../../../../src/runtime/status/status-documents.ts';
import { isLong } from '../../../../support/long.ts';
import { condition, createShootWithNodes } from '../../../../support/shoot-with-nodes.ts';

const NODES = isLong ? 1_000_000 : 100_000;
const MEGABYTE = 1_000_000;
/** Of each kind; all texts together are far above what is allowed. */
const OBJECTS = 200;
const SUCCEEDED = { type: 'Create', state: 'Succeeded', progress: 100, lastUpdateTime: '2025-01-01T00:00:00Z' };
const KEY = 'garden-web/blue';
/** Most characters of a status file. No content of a cluster makes one longer. */
const MOST_WRITTEN = 64 * 1_024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

type World = ReturnType<typeof createShootWithNodes>;

/** The status file as it would be written now. */
function fileOf({ engine }: World): string {
  engine.commit();
  const status = engine.statuses.get('Shoot', KEY);
  if (status === undefined) throw new Error('the Shoot has no status');
  return dump(declaredDocument(status, nothingWritten, Date.UTC(2026, 0, 1)), { lineWidth: -1 });
}

describe('hostile sizes', () => {
  it(`${NODES} Nodes cost little beyond themselves, and the status names one of those that are unhealthy`, () => {
    const world = createShootWithNodes('[{name: a, minimum: 1}]', { seed: false });
    world.wrote([], SUCCEEDED);
    for (let at = 0; at < NODES; at += 1) world.node(`n${at}`);
    const before = heapUsed();
    expect(world.found()?.status).toBe('True');
    expect((heapUsed() - before) / NODES).toBeLessThan(2_000);
    for (let at = 0; at < NODES; at += 100) world.node(`n${at}`, { conditions: [condition('Ready', 'False')] });
    expect(world.found()).toMatchObject({ status: 'False', reason: 'NodeUnhealthy' });
    expect(world.found()?.message).toMatch(/^Node "n0" in worker group "a" is unhealthy: /);
    expect(fileOf(world).length).toBeLessThan(MOST_WRITTEN);
  });

  it('messages of a megabyte in Nodes and Deployments are cut, and are not kept', () => {
    const world = createShootWithNodes('[{name: a, minimum: 1}]', { seed: true });
    world.wrote([], SUCCEEDED);
    const labels = { 'gardener.cloud/role': 'controlplane', 'worker.gardener.cloud/pool': 'a' };
    for (let at = 0; at < OBJECTS; at += 1) {
      for (const [cluster, key] of [
        ['blue', `/Node//n${at}`],
        ['seed', `apps/Deployment/shoot--web--blue/d${at}`],
      ] as const) {
        const value = (): JsonObject => {
          const text = Buffer.alloc(MEGABYTE, 'x').toString('latin1');
          const conditions = ['Ready', 'Available'].map((type) => condition(type, 'False', 'Because', text));
          return { metadata: { name: String(at), labels }, status: { conditions } };
        };
        // As in a server, which parses the bytes anew each time.
        const object = Object.defineProperty({ key, digest: String(at) }, 'value', { get: value });
        world.engine.inputs.live.set(cluster, key, object as never);
      }
    }
    const before = heapUsed();
    const file = fileOf(world);
    expect(heapUsed() - before).toBeLessThan(OBJECTS * 50_000);
    expect(file.length).toBeLessThan(MOST_WRITTEN);
    expect(file).toMatch(/Node "n0" in worker group "a" is unhealthy: .*cut, 1000\d{3} characters/);
  });

  it('of a million names of Leases a report says how many it leaves out, and the Nodes are not judged by them', () => {
    const judged = [{ namespace: 'kube-node-lease' }] as never;
    const spec = { renewTime: '2026-01-01T00:00:00Z', leaseDurationSeconds: 40 };
    function* leases(): Generator<JsonObject> {
      for (let at = 0; at < 1_000_000; at += 1)
        yield { metadata: { namespace: 'kube-node-lease', name: `n${at}` }, spec };
    }
    const report = leaseReportOf(leases(), judged, Date.UTC(2026, 0, 1, 0, 0, 1));
    expect(report.valid).toHaveLength(MOST_NAMED_LEASES);
    expect(report.leftOut).toBe(1_000_000 - MOST_NAMED_LEASES);
    const world = createShootWithNodes('[{name: a, minimum: 1}]', { seed: false });
    world.wrote([], SUCCEEDED);
    world.node('n1');
    world.leases(report.valid, [], report.leftOut);
    expect(world.found()).toMatchObject({
      status: 'Unknown',
      message: expect.stringContaining(`leaves out ${1_000_000 - MOST_NAMED_LEASES}`),
    });
    // An agent that does not keep to it is cut by the server.
    const names = Array.from({ length: 1_000_000 }, (_, at) => `kube-node-lease/n${at}`);
    world.leases(names);
    expect(world.found()?.message).toContain(`leaves out ${1_000_000 - MOST_NAMED_LEASES}`);
    expect(fileOf(world).length).toBeLessThan(MOST_WRITTEN);
  });
});

describe('hostile values', () => {
  const ODD: readonly JsonValue[] = [
    ...[null, true, 0, -1, 1e308, '', 'text', '\u0000\u001b[31m\u202e\ud800', [], [null], [[]], {}, { a: null }],
    ...[[{ type: 'Ready' }], [{ type: 1, status: {}, reason: [], message: null }], { conditions: { type: 'Ready' } }],
    { conditions: [null, 1, 'x', { type: 'Ready', status: 'False', reason: 7, message: { a: 1 } }] },
    { conditions: [{ type: 'Available', status: ['False'] }], observedGeneration: 'x', lastError: 'x' },
    { lastError: { description: 7, codes: 'x' }, currentStatus: [], valid: 1, expired: [null, 1, {}], leftOut: -5 },
    { valid: [1, null, {}], expired: {}, code: 'x', error: {}, certificates: [null, { notAfter: 7 }], pod: [] },
    { code: 503, body: { a: 1 }, failedChecks: 'x', responseMillis: 'fast', ready: 'yes', nodeInfo: 4 },
  ];
  const IN_CLUSTER = [
    ...['/Node//n1', 'internal.fleetrelay.dev/LeaseReport//leases', 'internal.fleetrelay.dev/ApiServerProbe//healthz'],
    ...['internal.fleetrelay.dev/CertificateReport//authorities', 'internal.fleetrelay.dev/TunnelProbe//tunnel'],
    ...['/Secret/kube-system/osc-a', '/Pod/kube-system/vpn', 'apiextensions.k8s.io/CustomResourceDefinition//a.b.c'],
    'admissionregistration.k8s.io/ValidatingWebhookConfiguration//hooks',
    'admissionregistration.k8s.io/MutatingWebhookConfiguration//hooks',
  ];
  const IN_CONTROL_PLANE = [
    ...['apps/Deployment', 'druid.gardener.cloud/Etcd', 'resources.gardener.cloud/ManagedResource', '/Secret'],
    ...['machine.sapcloud.io/Machine', 'machine.sapcloud.io/MachineDeployment', 'extensions.gardener.cloud/Worker'],
  ];
  const PLACES: readonly (readonly [cluster: string, key: string])[] = [
    ...IN_CLUSTER.map((key) => ['blue', key] as const),
    ...IN_CONTROL_PLANE.map((kind) => ['seed', `${kind}/shoot--web--blue/kube-apiserver`] as const),
    ['seed', 'extensions.gardener.cloud/BackupEntry//shoot--web--blue--id'],
  ];

  it.each(PLACES)('of every member in cluster %s of %s break nothing', (cluster, key) => {
    const world = createShootWithNodes('[{name: a, minimum: 1}]', { seed: true });
    world.wrote([], SUCCEEDED);
    const name = key.split('/').at(-1) ?? '';
    for (const odd of ODD) {
      const labels = { 'gardener.cloud/role': 'controlplane', 'care.gardener.cloud/condition-type': 'EveryNodeReady' };
      for (const value of [
        { metadata: { name, labels }, status: odd, spec: odd, data: odd, webhooks: odd },
        { metadata: { name, labels: odd, annotations: odd, generation: odd, deletionTimestamp: odd } },
        { metadata: odd, spec: { conversion: odd, replicas: odd, type: odd, versions: odd } },
      ]) {
        world.live(cluster, key, value as JsonObject);
        const file = fileOf(world);
        expect(file.length).toBeLessThan(MOST_WRITTEN);
        const { conditions } = (load(file) as { status: { conditions: JsonObject[] } }).status;
        for (const each of conditions) {
          expect(['True', 'False', 'Unknown', 'Progressing']).toContain(each.status);
          expect(typeof each.reason === 'string' && typeof each.message === 'string').toBe(true);
        }
      }
    }
  });

  it.each([
    ['control characters', 'a\u0000b\u001b[31mc\nd'],
    ['half a character', 'a\ud800b'],
    ['direction marks', 'a\u202eb'],
    ['the most characters', 'x'.repeat(253)],
  ])('a name with %s makes no other text of the file', (_, name) => {
    const world = createShootWithNodes('[{name: a, minimum: 1}]', { seed: false });
    world.wrote([], SUCCEEDED);
    world.live('blue', `/Node//${name}`, {
      metadata: { name, labels: { 'worker.gardener.cloud/pool': 'a' } },
      status: { conditions: [condition('Ready', 'False')] },
    });
    const file = fileOf(world);
    expect(file.length).toBeLessThan(MOST_WRITTEN);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(file).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    const { conditions } = (load(file) as { status: { conditions: JsonObject[] } }).status;
    const said = conditions.find(({ type }) => type === 'EveryNodeReady')?.message;
    expect(said).toContain(`Node "${name}" in worker group "a" is unhealthy`);
  });

  it.each(['a\u0000b', 'a\u001b[31mb', 'a\nb', 'x'.repeat(254), '..'])('the name %j is refused at the wire', (name) => {
    expect(parseObjectKey(`/Node//${name}`).ok).toBe(false);
  });
});
