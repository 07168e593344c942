import { describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { type KubernetesInventory, openInventory } from '../../../src/adapters/kubernetes/inventory/inventory.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { parseClusterName, parseFleetName, parseSourceName } from '../../../src/model/fleet/ids.ts';
import { type ObjectKey, parseObjectKey } from '../../../src/model/objects/object-key.ts';
import { snapshotDigest } from '../../../src/model/text/digest.ts';
import { isJsonObject, type JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { InventoryChange, InventoryRecord, InventoryState } from '../../../src/ports/cluster-api.ts';
import { createFaultyClient, type FaultyClient } from '../../support/kubernetes/faulty-client.ts';
import { silentLog } from '../../support/silent-log.ts';

/** An API server and a namespace of its own that is there. */
export interface InventoryHome {
  readonly client: KubeClient;
  readonly namespace: string;
}

const HEAD = 'fleetrelay-inventory';

/** Sleeping takes no time, and is counted. */
function hurriedClock(): Clock {
  let elapsed = 0;
  return {
    now: () => elapsed,
    monotonic: () => elapsed,
    sleep: async (milliseconds) => {
      elapsed += milliseconds;
    },
    schedule: () => () => {},
  };
}

export function keyNamed(name: string): ObjectKey {
  return must(parseObjectKey(`/ConfigMap/default/${name}`));
}

/** `padding`: how many characters its path has more. */
export function record(name: string, more: Partial<InventoryRecord> & { padding?: number } = {}): InventoryRecord {
  const { padding = 0, ...rest } = more;
  const origins = [{ source: must(parseSourceName('main')), path: `clusters/${'p'.repeat(padding)}${name}.yaml` }];
  const digest = snapshotDigest([[name, snapshotDigest([])]]);
  return { key: keyNamed(name), digest, phase: 'held', origins, scope: [], nonce: 'e4'.repeat(16), ...rest };
}

export function stateAt(sequence: number): InventoryState {
  return {
    position: { epoch: 1, sequence },
    digest: snapshotDigest([[String(sequence), snapshotDigest([])]]),
    revisions: [{ source: must(parseSourceName('main')), revision: `r${sequence}` }],
    fleet: must(parseFleetName('test')),
  };
}

export interface OpenedInventory extends KubernetesInventory {
  readonly faults: FaultyClient;
  /** What was overtaken, told once. */
  readonly overtaken: () => number;
}

export function open(
  home: InventoryHome,
  options: { holder?: string; mayWrite?: () => boolean } = {},
): OpenedInventory {
  const faults = createFaultyClient(home.client);
  let overtaken = 0;
  const inventory = openInventory(
    { client: faults, clock: hurriedClock(), random: createSystemRandom(), log: silentLog },
    {
      namespace: home.namespace,
      ...options,
      overtaken: () => {
        overtaken += 1;
      },
    },
  );
  return { ...inventory, faults, overtaken: () => overtaken };
}

export async function openFenced(home: InventoryHome, holder?: string): Promise<OpenedInventory> {
  const inventory = open(home, holder === undefined ? {} : { holder });
  await inventory.fence();
  await inventory.load();
  return inventory;
}

/** What a process that only looks finds. */
export async function found(
  home: InventoryHome,
): Promise<{ readonly sequence: number; readonly records: ReadonlyMap<ObjectKey, InventoryRecord> }> {
  const loaded = await open(home).load();
  if (loaded.type === 'missing') return { sequence: 0, records: new Map() };
  if (loaded.type === 'damaged') throw new Error(`damaged: ${loaded.message}`);
  return {
    sequence: loaded.state.position.sequence,
    records: new Map(loaded.records.map((item) => [item.key, item])),
  };
}

const change = (
  sequence: number,
  put: readonly InventoryRecord[],
  drop: readonly ObjectKey[] = [],
): InventoryChange => ({
  state: stateAt(sequence),
  put,
  drop,
});

async function configMaps({ client, namespace }: InventoryHome): Promise<readonly JsonObject[]> {
  const answer = await client.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}/configmaps` });
  if (answer.type !== 'ok' || !Array.isArray(answer.body.items)) throw new Error('the list failed');
  return answer.body.items
    .filter(isJsonObject)
    .filter(({ metadata }) => isJsonObject(metadata) && String(metadata.name).startsWith(HEAD));
}

const nameOf = ({ metadata }: JsonObject): string => String(isJsonObject(metadata) ? metadata.name : '');

async function edit(home: InventoryHome, name: string, change: (object: JsonObject) => JsonObject): Promise<void> {
  const path = `/api/v1/namespaces/${home.namespace}/configmaps/${name}`;
  const before = await home.client.request({ method: 'GET', path });
  if (before.type !== 'ok') throw new Error(`${name} is not there`);
  const answer = await home.client.request({ method: 'PUT', path, body: change(before.body) });
  if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
}

async function remove(home: InventoryHome, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${home.namespace}/configmaps/${name}`;
  const answer = await home.client.request({ method: 'DELETE', path });
  if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
}

const many = (count: number, padding = 0): InventoryRecord[] =>
  Array.from({ length: count }, (_, index) => record(`object-${index}`, { padding, identity: `uid-${index}` }));

/** What the inventory in a cluster must do, on whatever API server. `make` gives a namespace that nothing is in yet. */
export function inventoryContract(name: string, make: () => Promise<InventoryHome>): void {
  describe(`${name}: contract of the inventory`, () => {
    test('it is missing at first; every later reader finds exactly the saved records', async () => {
      const home = await make();
      expect(await open(home).load()).toEqual({ type: 'missing' });
      const inventory = await openFenced(home);
      const odd = record('a.b-c', {
        phase: 'removing',
        identity: 'uid-1',
        scope: [must(parseClusterName('east'))],
        origins: [{ source: must(parseSourceName('main')), path: 'ä/"quoted"\n\\/😀\u2028.yaml' }],
      });
      const settings = {
        discovery: { excludedNamespaces: ['kube-system'], excludedKinds: ['/Secret'] },
        ignoredFields: [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }],
      };
      const state = {
        ...stateAt(1),
        admitted: { epoch: 1_700_000_000_000, sequence: 7 },
        tag: 'a1'.repeat(64),
        settings,
      };
      await inventory.save({ state, put: [odd, record('b')], drop: [] });
      const expected = { type: 'found', state, records: [odd, record('b')] };
      expect(await open(home).load()).toEqual(expected);
      expect(await inventory.load()).toEqual(expected);
    });

    test('a position without records is found; a later change wins over an earlier one', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      await inventory.save({ state: { ...stateAt(3), fleet: undefined }, put: [], drop: [] });
      expect(await open(home).load()).toMatchObject({
        type: 'found',
        records: [],
        state: { position: { sequence: 3 } },
      });
      await inventory.save(change(4, [record('a'), record('b')]));
      await inventory.save(change(5, [record('a', { phase: 'removing' })], [keyNamed('b')]));
      await inventory.save(change(6, [], [keyNamed('never-there')]));
      const { sequence, records } = await found(home);
      expect(sequence).toBe(6);
      expect([...records.values()]).toEqual([record('a', { phase: 'removing' })]);
    });

    test('10,000 records work, and a change of one of them is one small request', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      const records = many(10_000);
      await inventory.save(change(1, records));
      expect((await found(home)).records.size).toBe(10_000);
      inventory.faults.requests.length = 0;
      await inventory.save(change(2, [record('object-5', { phase: 'removing' })]));
      expect(inventory.faults.requests.map(({ method, path }) => [method, path.split('/').at(-1)])).toEqual([
        ['PUT', HEAD],
      ]);
      expect(JSON.stringify(inventory.faults.requests[0]?.body).length).toBeLessThan(8_000);
      const after = await found(home);
      expect(after.records.size).toBe(10_000);
      expect(after.records.get(keyNamed('object-5'))?.phase).toBe('removing');
      expect(after.records.get(keyNamed('object-9999'))).toEqual(records.at(-1));
      for (const map of await configMaps(home)) expect(JSON.stringify(map.data).length).toBeLessThan(1024 * 1024);
    });

    test('many changes over a long time do not pile up', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      const records = many(30, 3_000);
      for (let round = 1; round <= 12; round += 1) {
        await inventory.save(
          change(
            round,
            records.map((item) => ({ ...item, identity: `uid-${round}` })),
          ),
        );
      }
      const maps = await configMaps(home);
      expect(maps.length).toBeLessThan(8);
      expect([...(await found(home)).records.values()].every(({ identity }) => identity === 'uid-12')).toBe(true);
    });

    test('a record that no ConfigMap can hold is cut, and found complete', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      const path = `${'😀ä'.repeat(150_000)}.yaml`;
      const long = record('long', { origins: [{ source: must(parseSourceName('main')), path }] });
      await inventory.save(change(1, [record('a'), long, record('z')]));
      expect((await found(home)).records.get(keyNamed('long'))).toEqual(long);
      expect((await found(home)).records.size).toBe(3);
    });

    test('a process that takes over fences the one before: its saves are refused from then on, and say why', async () => {
      const home = await make();
      const first = await openFenced(home, 'first');
      await first.save(change(1, [record('a')]));
      const second = await openFenced(home, 'second');
      await expect(first.save(change(2, [record('b')]))).rejects.toThrow(/second\/.* has been fenced/);
      first.faults.requests.length = 0;
      await expect(first.save(change(2, many(1_000)))).rejects.toThrow('fenced');
      await expect(first.fence()).rejects.toThrow('fenced');
      await expect(first.load()).rejects.toThrow('fenced');
      expect(first.faults.requests).toEqual([]);
      expect(first.overtaken()).toBe(1);
      await second.save(change(5, [record('c')]));
      expect([...(await found(home)).records.keys()]).toEqual([keyNamed('a'), keyNamed('c')]);
    });

    test('a large save of a fenced process changes nothing, and its pieces are removed', async () => {
      const home = await make();
      const first = await openFenced(home);
      await first.save(change(1, many(1_800)));
      const second = await openFenced(home);
      await expect(first.save(change(2, many(3_000, 100)))).rejects.toThrow('fenced');
      expect((await found(home)).sequence).toBe(1);
      await second.load();
      const after = await found(home);
      expect(after.records.size).toBe(1_800);
      expect((await configMaps(home)).length).toBe(2);
      expect(second.overtaken()).toBe(0);
    });

    test('without fencing and reading nothing is saved', async () => {
      const home = await make();
      const inventory = open(home);
      await expect(inventory.save(change(1, []))).rejects.toThrow('taken over and read');
      await inventory.fence();
      await expect(inventory.save(change(1, []))).rejects.toThrow('taken over and read');
    });

    test('a namespace that is not there: it says how to make it', async () => {
      const { client } = await make();
      const home = { client, namespace: 'not-there' };
      await expect(open(home).fence()).rejects.toThrow('kubectl create namespace not-there');
      expect(await open(home).load()).toEqual({ type: 'missing' });
    });

    test('a lost answer is found out: it is neither done twice nor given up', async () => {
      const home = await make();
      const inventory = open(home);
      inventory.faults.fail(({ method }, number) => (method === 'GET' ? 'none' : number < 4 ? 'lost' : 'none'));
      await inventory.fence();
      await inventory.load();
      const writes = () => inventory.faults.requests.filter(({ method }) => method !== 'GET').length;
      expect(writes()).toBe(1);
      inventory.faults.fail(({ method }) => (method === 'PUT' ? 'lost' : 'none'));
      await inventory.save(change(1, [record('a')]));
      expect(writes()).toBe(2);
      inventory.faults.fail(({ method }, number) => (method === 'POST' && number % 2 === 0 ? 'lost' : 'none'));
      await inventory.save(change(2, many(3_000)));
      expect((await found(home)).records.size).toBe(3_001);
      inventory.faults.fail((_, number) => (number < 3 ? 'dropped' : 'none'));
      await inventory.save(change(3, [], [keyNamed('a')]));
      expect((await found(home)).records.size).toBe(3_000);
    });

    test('an API server that stays away: the save is given up after a while; the next one goes on from before', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      await inventory.save(change(1, [record('a')]));
      inventory.faults.fail(() => 'dropped');
      await expect(inventory.save(change(2, [record('b')]))).rejects.toThrow('the API server does not answer');
      expect((await found(home)).sequence).toBe(1);
      // It arrives, and the answer is lost.
      inventory.faults.fail(({ method }) => (method === 'PUT' ? 'lost' : 'dropped'));
      await expect(inventory.save(change(3, [record('c')]))).rejects.toThrow('the API server does not answer');
      expect((await found(home)).sequence).toBe(3);
      inventory.faults.fail(() => 'none');
      await inventory.save(change(4, [record('d')]));
      const { sequence, records } = await found(home);
      expect(sequence).toBe(4);
      expect([...records.keys()]).toEqual([keyNamed('a'), keyNamed('d')]);
    });

    test('a large save of unknown end: its pieces stay for as long as they may be counted on', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      await inventory.save(change(1, [record('a')]));
      inventory.faults.fail(({ method }) => (method === 'PUT' ? 'lost' : method === 'POST' ? 'none' : 'dropped'));
      await expect(inventory.save(change(2, many(1_000)))).rejects.toThrow();
      inventory.faults.fail(() => 'none');
      await inventory.load();
      expect((await found(home)).records.size).toBe(1_001);
      const other = await openFenced(home);
      expect((await found(home)).records.size).toBe(1_001);
      await other.save(change(3, []));
      expect((await configMaps(home)).length).toBe(2);
    });

    test('a large save that failed does not stand in the way of the next one', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      inventory.faults.fail(({ method }) => (method === 'PUT' ? 'dropped' : 'none'));
      await expect(inventory.save(change(1, many(1_000)))).rejects.toThrow();
      inventory.faults.fail(() => 'none');
      await inventory.save(change(2, many(1_100)));
      expect((await found(home)).records.size).toBe(1_100);
      expect((await configMaps(home)).length).toBe(2);
    });

    test('who may not write sends nothing', async () => {
      const home = await make();
      let leads = true;
      const inventory = open(home, { mayWrite: () => leads });
      await inventory.fence();
      await inventory.load();
      leads = false;
      inventory.faults.requests.length = 0;
      await expect(inventory.save(change(1, many(1_000)))).rejects.toThrow('does not lead');
      await expect(inventory.fence()).rejects.toThrow('does not lead');
      expect(inventory.faults.requests).toEqual([]);
    });

    test('what people do to the head: a label stays, an edit is put right, a removal is made good', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      await inventory.save(change(1, many(1_000)));
      await edit(home, HEAD, (head) => ({
        ...head,
        metadata: { ...(head.metadata as JsonObject), labels: { theirs: 'yes' } },
      }));
      await inventory.save(change(2, [record('b')]));
      const head = (await configMaps(home)).find((map) => nameOf(map) === HEAD);
      expect(head?.metadata).toMatchObject({ labels: { theirs: 'yes', 'fleetrelay.dev/inventory': 'true' } });
      await edit(home, HEAD, (now) => ({ ...now, data: { ...(now.data as JsonObject), journal: '' } }));
      await inventory.save(change(3, [record('c')]));
      expect((await found(home)).records.size).toBe(1_002);
      await remove(home, HEAD);
      await inventory.save(change(4, [record('d')]));
      expect((await found(home)).records.size).toBe(1_003);
      expect(inventory.overtaken()).toBe(0);
    });

    test('after the head was removed, pieces of before are never taken for new ones', async () => {
      const home = await make();
      const first = await openFenced(home);
      await first.save(change(1, many(1_000)));
      await remove(home, HEAD);
      const second = await openFenced(home);
      expect(await second.load()).toEqual({ type: 'missing' });
      await second.save(change(2, many(1_500)));
      expect((await found(home)).records.size).toBe(1_500);
      await expect(first.save(change(3, []))).rejects.toThrow('fenced');
    });

    test.each([
      ['a piece was removed', 'is not there', async (home: InventoryHome, piece: string) => remove(home, piece)],
      [
        'a piece was exchanged',
        'checksum differs',
        async (home: InventoryHome, piece: string) => {
          await remove(home, piece);
          const path = `/api/v1/namespaces/${home.namespace}/configmaps`;
          const metadata = { name: piece, labels: { 'fleetrelay.dev/inventory': 'true' } };
          const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { records: '' } };
          expect((await home.client.request({ method: 'POST', path, body })).type).toBe('ok');
        },
      ],
      [
        'the head was edited',
        'changed by hand',
        async (home: InventoryHome) =>
          edit(home, HEAD, (head) => ({ ...head, data: { ...(head.data as JsonObject), journal: '' } })),
      ],
      [
        'the head is of a later version',
        'does not know',
        async (home: InventoryHome) =>
          edit(home, HEAD, (head) => ({ ...head, data: { ...(head.data as JsonObject), format: 'later' } })),
      ],
      [
        'the head has lost its content',
        'does not know',
        async (home: InventoryHome) => edit(home, HEAD, (head) => ({ ...head, data: { holder: '?', state: '{}' } })),
      ],
    ])('damage is told from absence: %s', async (_, message, damage) => {
      const home = await make();
      const first = await openFenced(home);
      await first.save(change(1, many(1_000)));
      await first.save(change(2, [record('a')]));
      const piece = (await configMaps(home)).map(nameOf).find((map) => map !== HEAD) ?? '';
      await damage(home, piece);
      expect(await open(home).load()).toMatchObject({ type: 'damaged', message: expect.stringContaining(message) });
      const second = open(home);
      await second.fence();
      expect(await second.load()).toMatchObject({ type: 'damaged', message: expect.stringContaining(message) });
      // Nothing of it is thrown away before there is something better.
      if (message !== 'is not there') expect((await configMaps(home)).length).toBe(2);
      await second.save(change(3, [record('b')]));
      expect([...(await found(home)).records.keys()]).toEqual([keyNamed('b')]);
      expect((await configMaps(home)).map(nameOf)).toEqual([HEAD]);
    });

    test('who only looks is not confused by a rewriting at the same time', async () => {
      const home = await make();
      const inventory = await openFenced(home);
      await inventory.save(change(1, many(500, 1_000)));
      const reader = open(home);
      let rewritten = false;
      const { request } = reader.faults;
      Object.assign(reader.faults, {
        request: async (asked: Parameters<typeof request>[0]) => {
          const answer = await request(asked);
          if (!rewritten && asked.path.endsWith(HEAD)) {
            rewritten = true;
            await inventory.save(change(2, many(600, 2_000)));
          }
          return answer;
        },
      });
      expect(await reader.load()).toMatchObject({ type: 'found', state: { position: { sequence: 2 } } });
    });
  });
}
