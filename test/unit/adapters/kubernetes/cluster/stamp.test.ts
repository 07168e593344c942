import { expect, test } from 'vitest';
import {
  readStamp,
  stampTextOf,
  withoutStamp,
  withStamp,
} from '../../../../../src/adapters/kubernetes/cluster/stamp.ts';
import { parseClusterName, parseFleetName, parseSourceName } from '../../../../../src/model/fleet/ids.ts';
import { parseObjectKey } from '../../../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../../../src/model/text/digest.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { must } from '../../../../../src/model/values/result.ts';

const key = must(parseObjectKey('/ConfigMap/web/a'));
const value: JsonObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', labels: { app: 'x' } },
  data: {},
};
const stamp = {
  fleet: must(parseFleetName('fleet')),
  key,
  nonce: 'e4'.repeat(16),
  origins: [
    { source: must(parseSourceName('git')), path: 'odd, name%\n.yaml' },
    { source: must(parseSourceName('other')), path: 'b.yaml' },
  ],
  scope: [must(parseClusterName('east')), must(parseClusterName('west'))],
};
const request = { key, value, stamp };
const change = (live: JsonObject, metadata: JsonObject) => ({
  ...live,
  metadata: { ...(live.metadata as JsonObject), ...metadata },
});

test('a written stamp is read again, and the object without it equals the one before', () => {
  const stamped = withStamp(value, request);
  expect(readStamp(stamped)).toEqual({ text: stampTextOf(request), stamp, declared: objectDigest(value) });
  expect(withoutStamp(stamped)).toEqual(value);
});

test('another content is another stamp', () => {
  expect(stampTextOf({ ...request, value: { ...value, data: { k: '1' } } })).not.toBe(stampTextOf(request));
});

test('the label alone is no stamp, and a label of another fleet invalidates the annotations', () => {
  const stamped = withStamp(value, request);
  expect(readStamp(change(stamped, { annotations: {} }))).toBeUndefined();
  expect(readStamp(change(stamped, { labels: { 'fleetrelay.dev/fleet': 'other' } }))).toBeUndefined();
  expect(readStamp(change(stamped, { labels: {} }))?.text).toBe(stampTextOf(request));
});

test('annotations that cannot be parsed are no stamp', () => {
  const broken = { annotations: { 'fleetrelay.dev/object': 'nonsense', 'fleetrelay.dev/fleet': 'UPPER' } };
  const read = readStamp(change(value, broken));
  expect(read).toMatchObject({ text: expect.any(String), stamp: undefined });
});
