import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeltaView } from '../../src/api/history-api.ts';
import type { ClusterView, SourceView } from '../../src/api/server-api.ts';
import type { SHOOT_ACTS } from '../../src/domains/care/runtime/operate-shoot.ts';
import type { RENEW_DATAPLANE_TOKEN } from '../../src/domains/health/compose/server.ts';
import { type JsonObject, objectOf } from '../../src/model/text/json.ts';
import { ACCEPTANCES_FILE } from '../../src/relay/trust/acceptances.ts';
import { REVOKED_FILE } from '../../src/relay/trust/revoked-certificates.ts';
import { GENERATIONS_FILE } from '../../src/relay/trust/tokens.ts';
import type { ACTS } from '../../src/server/acts.ts';
import { apiFetch } from '../support/api-fetch.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';

const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'clusters/blue/shoot.yaml': configMapYaml('shoot', 'one'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'clusters/north/cluster.yaml': clusterYaml('north'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**', 'names: [west]'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { guards: { maxRemovalsPerCluster: 0 }, care: { taskTimeout: 2s, retryDuration: 2s } }
`,
  'fleet/shoot.yaml': `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec: { purpose: production, kubernetes: { version: 1.33.2 }, provider: { type: local } }
`,
  'mesh/db.yaml': `type: Dataplane
mesh: default
name: db
networking:
  address: 10.0.0.7
  inbound: [{ port: 5432, tags: { kuma.io/service: postgres } }]
`,
  'apps/a.yaml': configMapYaml('a', 'one'),
};

/** What is asked of the server, and how a server that starts afterwards shows that it is in force. */
interface Scenario {
  /** With the names of the path filled in. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly isInForce: () => boolean | undefined | Promise<boolean | undefined>;
}

let fleet: Fleet;

const clusters = async (): Promise<readonly ClusterView[]> => itemsOf<ClusterView>('clusters');
const cluster = async (name: string) => (await clusters()).find((each) => each.name === name);
const source = async (name: string) => (await itemsOf<SourceView>('sources')).find((each) => each.name === name);
const trust = (file: string): JsonObject =>
  JSON.parse(readFileSync(join(fleet.dataDir, 'trust', file), 'utf8')) as JsonObject;
/** The operation of the Shoot, as its published status has it: what is asked of it is about that one. */
const isOperation = (type: string, state?: string): Promise<true> =>
  until(`the operation is ${type} ${state ?? ''}`, () => {
    const file = fleet.statusFile('shoots/garden-web/blue.yaml') as JsonObject | undefined;
    const last = objectOf(objectOf(file?.status).lastOperation);
    return last.type === type && (state ?? last.state) === last.state;
  });

async function itemsOf<Item>(path: string): Promise<readonly Item[]> {
  const response = await apiFetch(`${fleet.server.http()}/api/v1/${path}`);
  return ((await response.json()) as { readonly items: readonly Item[] }).items;
}

/** Asks until the server takes it, and kills the server in the moment in which that answer arrives. */
async function actAndKill({ path, body = {} }: Scenario): Promise<void> {
  await until(`${path} is answered with 200`, async () => {
    const response = await apiFetch(`${fleet.server.http()}/api/v1${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status === 200) fleet.server.signal('SIGKILL');
    else throw new Error(await response.text());
    return true;
  });
  await fleet.server.kill('SIGKILL');
}

type Path = (typeof ACTS)[number]['path'] | typeof RENEW_DATAPLANE_TOKEN | keyof typeof SHOOT_ACTS;

/** Makes the scenario of each act, in the order of the table. A new act needs one: the types say so. */
const SCENARIOS: Readonly<Record<Path, () => Promise<Scenario>>> = {
  '/approvals': async () => {
    // Its agent is away, so that the removal cannot leave before the server is killed.
    await fleet.agent('west').kill('SIGKILL');
    fleet.push({ 'apps/a.yaml': null });
    const [held] = await until('a removal is held', async () => {
      const { heldRemovals } = await fleet.status();
      return heldRemovals.length > 0 && heldRemovals;
    });
    return {
      path: '/approvals',
      body: { digest: held?.digest ?? '' },
      isInForce: async () => {
        await fleet.agent('west').start();
        await until('the object is removed', async () => (await fleet.live('west', 'ConfigMap/web/a')) === undefined);
        await fleet.agent('west').kill('SIGKILL');
        return true;
      },
    };
  },
  '/clusters/:name/retry': async () => {
    await fleet.agent('west').start();
    const west = await fleet.cluster('west');
    await west.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'web', name: 'taken' } });
    fleet.push({ 'clusters/west/taken.yaml': configMapYaml('taken', 'one') });
    await until('the object is a conflict', async () => ((await cluster('west'))?.counts.failed ?? 0) > 0);
    await fleet.agent('west').kill('SIGKILL');
    return {
      path: '/clusters/west/retry',
      isInForce: async () => {
        await fleet.agent('west').start();
        await until('another attempt is sent', async () =>
          (await itemsOf<DeltaView>('history?cluster=west')).some(({ counts }) => counts.touch > 0),
        );
        await west.remove('ConfigMap/web/taken');
        fleet.push({ 'clusters/west/taken.yaml': null });
        await fleet.agent('west').kill('SIGKILL');
        return true;
      },
    };
  },
  '/sources/:name/accept': async () => {
    fleet.push({ 'own.yaml': null, 'other.txt': 'no manifest' }, 'extra');
    const refused = await until(
      'the empty tree is refused',
      async () => (await source('extra'))?.refusedRevision ?? undefined,
    );
    return {
      path: '/sources/extra/accept',
      body: { revision: refused },
      isInForce: async () => {
        // A look can fail, and a start shows the revision of before first: the same revision waits again if the act was lost.
        const now = await until('the revision was judged', async () => {
          const view = await source('extra');
          return [view?.revision, view?.refusedRevision].includes(refused) && view;
        });
        return now.revision === refused && now.refusedRevision === null;
      },
    };
  },
  '/clusters/:name/accept': async () => ({
    path: '/clusters/north/accept',
    body: { id: 'north-id', key: 'ab'.repeat(32) },
    isInForce: () => JSON.stringify(trust(ACCEPTANCES_FILE)).includes('north-id'),
  }),
  '/clusters/:name/revoke-certificates': async () => ({
    path: '/clusters/west/revoke-certificates',
    isInForce: () => JSON.stringify(trust(REVOKED_FILE)).includes('west'),
  }),
  '/clusters/:name/replace': async () => ({
    path: '/clusters/west/replace',
    isInForce: async () => (await cluster('west'))?.released,
  }),
  '/clusters/:name/give-back': async () => ({
    path: '/clusters/west/give-back',
    isInForce: async () => (await cluster('west'))?.released === false,
  }),
  '/dataplanes/:mesh/:name/renew-token': async () => ({
    path: '/dataplanes/default/db/renew-token',
    isInForce: () => JSON.stringify(trust(GENERATIONS_FILE)).includes('default/db'),
  }),
  '/clusters/:name/renew-token': async () => ({
    path: '/clusters/north/renew-token',
    isInForce: async () => ((await cluster('north'))?.tokenGeneration ?? 0) > 0,
  }),
  '/clusters/:name/suspend': async () => ({
    path: '/clusters/west/suspend',
    body: { reason: 'being moved' },
    isInForce: async () => (await cluster('west'))?.suspended?.reason === 'being moved',
  }),
  '/clusters/:name/resume': async () => ({
    path: '/clusters/west/resume',
    isInForce: async () => (await cluster('west'))?.suspended === null,
  }),
  '/sources/:name/suspend': async () => ({
    path: '/sources/extra/suspend',
    isInForce: async () => (await source('extra'))?.suspended !== null,
  }),
  '/sources/sync': async () => ({
    path: '/sources/sync',
    isInForce: () => until('the source was read', async () => (await source('fleet'))?.state === 'synced'),
  }),
  '/sources/:name/sync': async () => ({
    path: '/sources/fleet/sync',
    isInForce: () => until('the source was read', async () => (await source('fleet'))?.state === 'synced'),
  }),
  '/sources/:name/resume': async () => ({
    path: '/sources/extra/resume',
    isInForce: async () => (await source('extra'))?.suspended === null,
  }),
  '/shoots/:namespace/:name/reconcile': async () => {
    await isOperation('Create', 'Succeeded');
    return {
      path: '/shoots/garden-web/blue/reconcile',
      isInForce: () => isOperation('Reconcile'),
    };
  },
  '/shoots/:namespace/:name/retry': async () => {
    const blue = await fleet.cluster('blue');
    await blue.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'web', name: 'taken' } });
    fleet.push({ 'clusters/blue/taken.yaml': configMapYaml('taken', 'one') });
    await isOperation('Reconcile', 'Failed');
    return {
      path: '/shoots/garden-web/blue/retry',
      isInForce: async () => {
        await blue.remove('ConfigMap/web/taken');
        return isOperation('Reconcile', 'Succeeded');
      },
    };
  },
};

describe('an act of the API whose server is killed when its answer arrives', () => {
  beforeAll(async () => {
    fleet = await startFleet(files, {
      sources: { extra: { 'own.yaml': configMapYaml('own', 'one') } },
      config: { fields: { status: { git: { enabled: true } } } },
    });
    for (const name of ['blue', 'west']) await fleet.agent(name).start();
    await until('both agents have what is declared', async () => {
      const seen = (await clusters()).filter(({ name }) => name !== 'north');
      return seen.every(({ inSync, counts }) => inSync && counts.applied === counts.targeted) && seen.length === 2;
    });
  });
  afterAll(async () => fleet?.stop());

  it.each(Object.keys(SCENARIOS) as readonly Path[])('%s', async (path) => {
    const scenario = await SCENARIOS[path]();
    await actAndKill(scenario);
    await fleet.server.start();
    await until('the server is ready', async () => (await fleet.status()).ready);
    expect(await scenario.isInForce()).toBe(true);
    const [last] = await itemsOf<JsonObject>('audit?limit=1');
    expect(objectOf(last)).toMatchObject({ stage: 'done', act: scenario.path.slice(1) });
  });
});
