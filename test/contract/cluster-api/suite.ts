import { describe, expect, test } from 'vitest';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { parseFleetName, parseSourceName } from '../../../src/model/fleet/ids.ts';
import { metadataOf, type ObjectKey, objectKey, refOfObject } from '../../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../../src/model/text/digest.ts';
import { canonicalJson, type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ApplyRequest, ClusterApi, InventoryChange, Stamp } from '../../../src/ports/cluster-api.ts';

/** A cluster under test, and the hands of a person in it. */
export interface ClusterHarness {
  readonly cluster: ClusterApi;
  /** Closes it and opens it anew, as a restarted agent would. */
  reopen(): Promise<ClusterApi>;
  /** Makes an object that carries no stamp, or puts this content in place of what there is (the stamp goes). */
  personPuts(value: JsonObject): Promise<void> | void;
  /** Changes content of an object and leaves its stamp. */
  personEdits(key: ObjectKey, change: (value: JsonObject) => JsonObject): Promise<void> | void;
  personRemoves(key: ObjectKey): Promise<void> | void;
  pause(on: boolean): Promise<void> | void;
}

/** What not every cluster does. */
export interface ClusterCapabilities {
  /** Takes any kind of object as it is written, of any size, and adds nothing to it. */
  readonly asWritten: boolean;
  /** An object of a kind whose objects the cluster lists for every manager. */
  readonly discovered: (name: string, k: string) => JsonObject;
}

const EVERYTHING: ClusterCapabilities = { asWritten: true, discovered: (name, k) => configMap(name, { k }) };

export const fleet = must(parseFleetName('fleet'));
/** Of every entry of the inventory. */
export const nonce = 'e4'.repeat(16);
const origins = [{ source: must(parseSourceName('git')), path: 'clusters/west/web.yaml' }];

export function configMap(name: string, data: Record<string, string>, namespace = 'web'): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

export function keyOf(value: JsonObject): ObjectKey {
  return objectKey(must(refOfObject(value)));
}

export function request(value: JsonObject, stamp: Partial<Stamp> = {}): ApplyRequest {
  const key = keyOf(value);
  return { key, value, stamp: { fleet, key, nonce, origins, scope: [], ...stamp } };
}

export function inventoryChange(
  sequence: number,
  values: readonly JsonObject[],
  drop: readonly ObjectKey[] = [],
): InventoryChange {
  const put = values.map((value) => ({
    key: keyOf(value),
    digest: objectDigest(value),
    phase: 'held' as const,
    origins,
    scope: [],
    stopped: true as const,
    attempt: 1_780_000_000_000,
    nonce,
  }));
  return {
    state: {
      admitted: { epoch: 1, sequence },
      tag: 'b2'.repeat(32),
      settings: {
        discovery: { excludedNamespaces: ['kube-system'], excludedKinds: ['/Event'] },
        ignoredFields: [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }],
      },
      position: { epoch: 1, sequence },
      digest: snapshotDigest(put.map(({ key, digest }) => [key, digest])),
      revisions: [{ source: must(parseSourceName('git')), revision: 'abc' }],
      fleet,
    },
    put,
    drop,
  };
}

/** What every cluster must do. `make` gives a fresh, empty one each time. */
export function clusterContract(
  name: string,
  make: () => Promise<ClusterHarness>,
  capabilities: ClusterCapabilities = EVERYTHING,
): void {
  const { asWritten, discovered } = capabilities;
  describe(`${name}: contract of a cluster`, () => {
    const a = configMap('a', { k: '1' });
    const key = keyOf(a);

    test('its id stays the same', async () => {
      const harness = await make();
      const id = await harness.cluster.identity();
      expect(await (await harness.reopen()).identity()).toBe(id);
    });

    test('an applied object is live, with its stamp apart from its value; applying it again changes nothing', async () => {
      const { cluster } = await make();
      expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
      const { objects, kinds } = await cluster.list('complete');
      expect(objects.get(key)).toMatchObject({ key, value: a, stamp: request(a).stamp });
      // Where only owned objects are listed, the list must not count as complete.
      const state = asWritten ? 'complete' : 'offered';
      expect(kinds).toContainEqual(expect.objectContaining({ kind: '/ConfigMap', state, message: '' }));
      expect(await cluster.apply(request(a))).toMatchObject({ type: 'unchanged' });
      expect(await cluster.list('hinted')).toBe(await cluster.list('hinted'));
    });

    test('other content, or only another origin, is written', async () => {
      const { cluster } = await make();
      await cluster.apply(request(a));
      const changed = configMap('a', { k: '2' });
      expect(await cluster.apply(request(changed))).toMatchObject({ type: 'applied' });
      const moved = request(changed, { origins: [{ ...origins[0]!, path: 'other.yaml' }] });
      expect(await cluster.apply(moved)).toMatchObject({ type: 'applied' });
      const live = (await cluster.list('complete')).objects.get(key);
      expect(live).toMatchObject({ value: changed, stamp: moved.stamp });
      expect(cluster.matches(moved, live!)).toBe(true);
      expect(cluster.matches(request(changed), live!)).toBe(false);
    });

    test("a person's edit is seen, is no match, and is put back by applying", async () => {
      const { cluster, personEdits } = await make();
      await cluster.apply(request(a));
      await personEdits(key, (value) => ({ ...value, data: { k: 'drift' } }));
      const drifted = (await cluster.list('complete')).objects.get(key);
      expect(drifted?.value).toEqual(configMap('a', { k: 'drift' }));
      expect(cluster.matches(request(a), drifted!)).toBe(false);
      expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
      expect((await cluster.list('complete')).objects.get(key)?.value).toEqual(a);
    });

    test('drift that is only reported is left after a restart, also if the manifest has moved, until the content changes', async () => {
      const { cluster, personEdits, personRemoves, reopen } = await make();
      const [b, next] = [configMap('b', { k: '1' }), configMap('a', { k: '2' })];
      for (const value of [a, b]) await cluster.apply(request(value));
      await personEdits(key, (value) => ({ ...value, data: { k: 'drift' } }));
      await personRemoves(keyOf(b));
      const again = await reopen();
      await again.loadInventory();
      await again.list('complete');
      const moved = { origins: [{ source: must(parseSourceName('git')), path: 'moved.yaml' }] };
      const leaving = (value: JsonObject, stamp: Partial<Stamp> = {}): ApplyRequest => ({
        ...{ ...request(value, stamp), digest: objectDigest(value) },
        ...{ leavesDrift: true, applied: true },
      });
      for (const stamp of [{}, moved]) {
        expect(await again.apply(leaving(a, stamp))).toMatchObject({ type: 'drifted', drift: 'changed' });
        expect(await again.apply(leaving(b, stamp))).toMatchObject({ type: 'drifted', drift: 'removed', fields: [] });
      }
      const { objects } = await again.list('complete');
      expect([objects.get(key)?.value, objects.has(keyOf(b))]).toEqual([configMap('a', { k: 'drift' }), false]);
      const { applied: _, ...changed } = leaving(next);
      expect(await again.apply(changed)).toMatchObject({ type: 'applied' });
      const { leavesDrift: _mode, ...repairing } = leaving(b);
      expect(await again.apply(repairing)).toMatchObject({ type: 'applied' });
      // An object that is as declared gets the stamp of the file that declares it now.
      expect(await again.apply(leaving(b, moved))).toMatchObject({ type: 'applied' });
      expect((await again.list('complete')).objects.get(key)?.value).toEqual(next);
    });

    test("a person's object is neither changed nor removed", async () => {
      const { cluster, personPuts } = await make();
      const theirs = discovered('a', 'theirs');
      const key = keyOf(theirs);
      await personPuts(theirs);
      await cluster.list('complete');
      expect(await cluster.apply(request(discovered('a', '1')))).toMatchObject({
        type: 'conflict',
        owner: expect.stringMatching(/./),
      });
      expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'notOwned' });
      expect((await cluster.list('complete')).objects.get(key)?.value).toEqual(theirs);
    });

    test('a stamp of another fleet, or for another object, owns nothing', async () => {
      const { cluster } = await make();
      const otherFleet = must(parseFleetName('other'));
      await cluster.apply(request(a, { fleet: otherFleet }));
      expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict' });
      expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'notOwned' });
      const b = configMap('b', {});
      await cluster.apply(request(b, { key }));
      expect(await cluster.apply(request(b))).toMatchObject({ type: 'conflict' });
      expect(await cluster.remove({ key: keyOf(b), fleet, nonce })).toMatchObject({ type: 'notOwned' });
    });

    test('a stamp of this object and this fleet that the inventory does not know owns nothing', async () => {
      const { cluster } = await make();
      await cluster.apply(request(a, { nonce: 'made up' }));
      expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({
        type: 'conflict',
        owner: expect.stringMatching(/./),
      });
      expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'notOwned' });
      const live = (await cluster.list('complete')).objects.get(key);
      expect(live?.value).toEqual(a);
      expect(cluster.matches(request(a), live!)).toBe(false);
    });

    test('opt-outs on live objects have no effect where the policy ignores them', async () => {
      const { cluster, personEdits } = await make();
      cluster.configure({ ...NO_SETTINGS, ignoreLiveOptOuts: true });
      await cluster.apply(request(a));
      const optOut = { 'fleetrelay.dev/reconcile': 'disabled', 'fleetrelay.dev/prune': 'disabled' };
      await personEdits(key, (value) => {
        const metadata = metadataOf(value);
        const annotations = { ...objectOf(metadata.annotations), ...optOut };
        return { ...value, metadata: { ...metadata, annotations }, data: { k: 'drift' } };
      });
      await cluster.list('complete');
      expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
      expect((await cluster.list('complete')).objects.get(key)?.value).toMatchObject({ data: { k: '1' } });
      expect(await cluster.remove({ key, fleet, nonce, declared: a })).toEqual({ type: 'gone' });
    });

    test('removing takes our object away, and what is not there is gone', async () => {
      const { cluster } = await make();
      await cluster.apply(request(a));
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
      expect((await cluster.list('complete')).objects.has(key)).toBe(false);
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
    });

    test('the stop button stops writing at once and lets the inventory go on', async () => {
      const { cluster, pause } = await make();
      await cluster.apply(request(a));
      await pause(true);
      expect((await cluster.list('complete')).paused).toBe(true);
      expect(await cluster.apply(request(configMap('a', { k: '2' })))).toEqual({ type: 'paused' });
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'paused' });
      await cluster.saveInventory(inventoryChange(1, [a]));
      expect((await cluster.list('complete')).objects.get(key)?.value).toEqual(a);
      await pause(false);
      expect((await cluster.list('hinted')).paused).toBe(false);
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
    });

    test('bytes of a live object, where they are kept, are the canonical bytes of its value', async () => {
      const { cluster } = await make();
      await cluster.apply(request(configMap('b', { z: '\u2028', a: 'ä' })));
      await cluster.apply(request(a));
      for (const { value, content } of (await cluster.list('complete')).objects.values()) {
        if (content !== undefined) expect(Buffer.from(content).toString('utf8')).toBe(canonicalJson(value));
      }
    });

    test('the inventory outlasts the agent, step by step', async () => {
      const harness = await make();
      const b = configMap('b', {});
      expect(await harness.cluster.loadInventory()).toEqual({ type: 'missing' });
      await harness.cluster.saveInventory(inventoryChange(1, [a, b]));
      await harness.cluster.saveInventory(inventoryChange(2, [], [key]));
      const again = await harness.reopen();
      const { state, put } = inventoryChange(2, [b]);
      expect(await again.loadInventory()).toEqual({
        type: 'found',
        state: { ...state, digest: snapshotDigest([]) },
        records: put,
      });
      await again.saveInventory(inventoryChange(3, [a]));
      const loaded = await (await harness.reopen()).loadInventory();
      expect(loaded).toMatchObject({ type: 'found', state: { position: { epoch: 1, sequence: 3 } } });
    });

    test('what a person does is hinted at', async () => {
      const { cluster, personPuts, personRemoves } = await make();
      await cluster.list('complete');
      const hint = () => new Promise<void>((resolve) => cluster.watch(resolve));
      const first = hint();
      await personPuts(discovered('theirs', '1'));
      await first;
      const theirs = keyOf(discovered('theirs', '1'));
      expect((await cluster.list('hinted')).objects.has(theirs)).toBe(true);
      const second = hint();
      await personRemoves(theirs);
      await second;
      expect((await cluster.list('hinted')).objects.has(theirs)).toBe(false);
    });

    test('objects in and outside of namespaces, in groups, with odd names, are told apart', async () => {
      const { cluster } = await make();
      const values: JsonObject[] = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'odd' } },
        ...(asWritten
          ? [
              { apiVersion: 'apps/v1', kind: 'Thing', metadata: { name: 'a', namespace: 'web' } },
              { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', namespace: 'web' } },
            ]
          : []),
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'system:a b..c' } },
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: '.hidden' } },
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: `${'ä'.repeat(250)}1` } },
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: `${'ä'.repeat(250)}2` } },
      ];
      for (const value of values) expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
      const { objects } = await cluster.list('complete');
      if (asWritten) expect([...objects.keys()].sort()).toEqual(values.map(keyOf).sort());
      for (const value of values) expect(objects.get(keyOf(value))?.value).toMatchObject(value);
    });

    test('five megabytes, and text in all its forms, are read as they were written', async () => {
      const { cluster, reopen } = await make();
      const data = {
        big: 'x'.repeat(5 * 1024 * 1024),
        yes: 'yes',
        octal: '010',
        lines: 'a\n  b\n\n',
        trailing: 'a \n',
        tab: '\tx',
        quote: `'"`,
        colon: 'a: b # c',
        empty: '',
        nil: '~',
        date: '2020-01-01',
        unicode: '\u{1f600} \u0085 \u2028',
      };
      const { big, ...small } = data;
      const none = asWritten ? { none: {} } : {};
      await cluster.apply(request({ ...configMap('small', small), ...none }));
      if (!asWritten) {
        const refused = await cluster.apply(request(configMap('a', { big })));
        expect(refused).toMatchObject({ type: 'failed', reason: 'TooLarge' });
        const { objects } = await (await reopen()).list('complete');
        expect(objects.get(keyOf(configMap('small', {})))?.value).toEqual(configMap('small', small));
        return;
      }
      const value = {
        ...configMap('a', { big, ...small }),
        numbers: [0, -1, 1.5, 1e21, 1e-7],
        flags: [true, false, null],
        none: {},
      };
      expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
      const again = await reopen();
      const { objects } = await again.list('complete');
      expect(again.matches(request(value), objects.get(key)!)).toBe(true);
      expect(objects.get(keyOf(configMap('small', {})))?.value).toEqual({ ...configMap('small', small), none: {} });
    });
  });
}
