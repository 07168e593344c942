import { describe, expect, test } from 'vitest';
import { statusKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ApplyRequest, ClusterApi, ObservedObject } from '../../../src/ports/cluster-api.ts';
import { fleet, inventoryChange, keyOf, nonce, request } from './suite.ts';

/** A cluster with an object of a person, and the hands of that person. */
export interface StatusHarness {
  readonly cluster: ClusterApi;
  reopen(): Promise<ClusterApi>;
  makesObject(): Promise<void> | void;
  removesObject(): Promise<void> | void;
  /** Writes these members of the status, as another manager. */
  writes(status: JsonObject): Promise<void> | void;
  /** The status of the object; undefined: the object does not exist. */
  status(): Promise<JsonObject | undefined> | JsonObject | undefined;
  pause(on: boolean): Promise<void> | void;
}

const named = {
  apiVersion: 'example.com/v1',
  kind: 'Flower',
  metadata: { name: 'theirs', namespace: 'web' },
};
/** The object of a person. */
export const theirs: JsonObject = { ...named, spec: { colour: 'red' } };
export const key = statusKey(keyOf(theirs));

export function statusRequest(status: JsonObject): ApplyRequest {
  const value = { ...named, status };
  const { stamp } = request(theirs);
  return { key, value, digest: objectDigest(value), stamp };
}

/** Enters the status in the inventory, as the agent does before it applies it. */
export async function enter(cluster: ClusterApi, sequence = 1): Promise<void> {
  const { put, ...change } = inventoryChange(sequence, [theirs]);
  await cluster.saveInventory({ ...change, put: put.map((record) => ({ ...record, key })) });
}

/** Waits until the live state says this of the status. */
export async function seen(
  cluster: ClusterApi,
  look: (status: ObservedObject | undefined) => boolean,
): Promise<ObservedObject> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const status = (await cluster.list('hinted')).statuses?.get(key);
    if (look(status)) return status as ObservedObject;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('this was not seen');
}

/** What every cluster with statuses must do. */
export function statusContract(name: string, make: () => Promise<StatusHarness>): void {
  describe(`${name}: statuses of objects of others`, () => {
    const two = statusRequest({ blooms: 2 });

    test('the fields are applied beside the fields of others, and end alone', async () => {
      const { cluster, makesObject, writes, status } = await make();
      await makesObject();
      await writes({ height: 1, blooms: 1 });
      await enter(cluster);
      expect(await cluster.apply(two)).toEqual({ type: 'applied' });
      expect(await status()).toEqual({ height: 1, blooms: 2 });
      expect(cluster.matches(two, await seen(cluster, (live) => live !== undefined))).toBe(true);
      expect(await cluster.apply(two)).toEqual({ type: 'unchanged' });
      expect(await cluster.apply(statusRequest({ leaves: 3 }))).toEqual({ type: 'applied' });
      expect(await status()).toEqual({ height: 1, leaves: 3 });
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
      expect(await status()).toEqual({ height: 1 });
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
    });

    test('it ends also if the version that it was declared in is not served any more', async () => {
      const { cluster, makesObject, status } = await make();
      await makesObject();
      await enter(cluster);
      await cluster.apply(two);
      const declared = { ...two.value, apiVersion: 'example.com/v1alpha1' };
      expect(await cluster.remove({ key, fleet, nonce, declared })).toEqual({ type: 'gone' });
      expect(await status()).not.toHaveProperty('blooms');
    });

    test('an object that is missing is not made; its status is applied when it is there', async () => {
      const { cluster, makesObject, status } = await make();
      await enter(cluster);
      await tryUntil(cluster, two, (outcome) => outcome.type === 'exempt');
      expect(await cluster.apply(two)).toMatchObject({ type: 'exempt', reason: 'NoObject' });
      expect(await status()).toBeUndefined();
      await makesObject();
      const live = await seen(cluster, (each) => each !== undefined);
      expect(cluster.matches(two, live)).toBe(false);
      expect(await cluster.apply(two)).toEqual({ type: 'applied' });
      expect(await status()).toMatchObject({ blooms: 2 });
    });

    test('an object that was made anew gets it again, and the end of one without an object is done', async () => {
      const { cluster, makesObject, removesObject, status } = await make();
      await makesObject();
      await enter(cluster);
      await cluster.apply(two);
      await removesObject();
      await seen(cluster, (live) => live === undefined);
      await makesObject();
      const live = await seen(cluster, (each) => each !== undefined);
      expect(cluster.matches(two, live)).toBe(false);
      expect(await cluster.apply(two)).toEqual({ type: 'applied' });
      expect(await status()).toMatchObject({ blooms: 2 });
      await removesObject();
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
    });

    test('what others change is seen with its field, and is put back', async () => {
      const { cluster, makesObject, writes, status } = await make();
      await makesObject();
      await enter(cluster);
      await cluster.apply(two);
      await writes({ blooms: 7 });
      const live = await seen(cluster, (each) => each !== undefined && !cluster.matches(two, each));
      expect(cluster.differences(two, live)).toMatchObject({
        fields: ['.status.blooms'],
        managers: [expect.any(String)],
      });
      expect(await cluster.apply(two)).toEqual({ type: 'applied' });
      expect(await status()).toMatchObject({ blooms: 2 });
    });

    test('the stop button stops them too', async () => {
      const { cluster, makesObject, pause, status } = await make();
      await makesObject();
      await enter(cluster);
      await pause(true);
      expect(await cluster.apply(two)).toEqual({ type: 'paused' });
      expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'paused' });
      await pause(false);
      expect(await status()).not.toHaveProperty('blooms');
    });

    test('the inventory has them apart from the objects, until they are dropped', async () => {
      const harness = await make();
      await harness.makesObject();
      await enter(harness.cluster);
      await harness.cluster.apply(two);
      const again = await harness.reopen();
      const loaded = await again.loadInventory();
      expect(loaded).toMatchObject({ type: 'found', records: [], statuses: [{ key }] });
      await again.list('complete');
      expect(again.matches(two, await seen(again, (live) => live !== undefined))).toBe(true);
      await again.saveInventory({ ...inventoryChange(2, []), drop: [key] });
      expect((await again.list('hinted')).statuses?.has(key)).not.toBe(true);
      const dropped = await (await harness.reopen()).loadInventory();
      expect(dropped).toMatchObject({ type: 'found', records: [] });
      expect(dropped).not.toHaveProperty('statuses');
    });
  });
}

/** Applies until it is known that the object does not exist. */
async function tryUntil(
  cluster: ClusterApi,
  wanted: ApplyRequest,
  isIt: (outcome: Awaited<ReturnType<ClusterApi['apply']>>) => boolean,
): Promise<void> {
  for (let tries = 0; tries < 1_000 && !isIt(await cluster.apply(wanted)); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
