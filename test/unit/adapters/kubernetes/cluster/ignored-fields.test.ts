import { expect, test } from 'vitest';
import { handOver, withoutFields } from '../../../../../src/adapters/kubernetes/cluster/ignored-fields.ts';
import { NO_SETTINGS } from '../../../../../src/model/agent/agent-settings.ts';
import { parseFleetName } from '../../../../../src/model/fleet/ids.ts';
import { ignoredFields } from '../../../../../src/model/objects/ignored-fields.ts';
import { parseObjectKey } from '../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { must } from '../../../../../src/model/values/result.ts';

const key = must(parseObjectKey('apps/Deployment/web/a'));
const request = (annotations: JsonObject) => ({
  key,
  value: { metadata: { name: 'a', annotations } },
  stamp: { fleet: must(parseFleetName('f')), key, nonce: 'n', origins: [], scope: [] },
});
const holder = (manager: string, operation: 'Apply' | 'Update', fields: JsonObject) => ({
  manager,
  operation,
  fields,
  subresource: '',
  apiVersion: '',
  time: '',
});
const path = ['spec', 'replicas'];
const held = { 'f:spec': { 'f:replicas': {} } };
const declared = { spec: { replicas: 2, paused: false } };
const live = { spec: { replicas: 5, paused: false } };

test('fields are ignored by the policy for a kind, by an annotation, and by an autoscaler', () => {
  const settings = {
    ...NO_SETTINGS,
    ignoredFields: [
      { kind: 'apps/Deployment', fields: ['spec.paused'] },
      { kind: '/Service', fields: ['spec.type'] },
    ],
  };
  const said = request({ 'fleetrelay.dev/ignore-fields': ' .spec.x , metadata.annotations.a\\.b/c' });
  expect(ignoredFields(said, settings, true)).toEqual([
    ['spec', 'paused'],
    ['spec', 'x'],
    ['metadata', 'annotations', 'a.b/c'],
    ['spec', 'replicas'],
  ]);
  expect(ignoredFields(request({}), settings, false)).toEqual([['spec', 'paused']]);
});

test('a field that another manager owns is left out', () => {
  const holders = [holder('fleetrelay', 'Apply', held), holder('hpa', 'Update', held)];
  expect(handOver(declared, live, holders, [path])).toEqual({ spec: { paused: false } });
});

test('a field that only we own keeps its live value: leaving it out would remove it', () => {
  expect(handOver(declared, live, [holder('fleetrelay', 'Apply', held)], [path])).toEqual(live);
});

test('a field that is not declared any more keeps its live value while only we own it', () => {
  const ours = [holder('fleetrelay', 'Apply', held)];
  expect(handOver({ spec: { paused: false } }, live, ours, [path])).toEqual(live);
  expect(handOver({}, live, ours, [path])).toEqual({ spec: { replicas: 5 } });
  expect(handOver({}, live, [...ours, holder('hpa', 'Update', held)], [path])).toEqual({});
  expect(handOver({}, live, [], [path])).toEqual({});
});

test('a field that no manager owns is left to the server', () => {
  expect(handOver(declared, live, [], [path])).toEqual({ spec: { paused: false } });
});

test('a map that becomes empty is removed as well; one that was declared as empty stays', () => {
  expect(withoutFields({ data: { k: '1' }, spec: {} }, [['data', 'k']])).toEqual({ spec: {} });
  expect(withoutFields({ list: [{ a: 1 }, { b: 1 }] }, [['list', 'a']])).toEqual({ list: [{}, { b: 1 }] });
});

test('a path through a list means the field of each item', () => {
  const value = { webhooks: [{ name: 'a', clientConfig: { caBundle: 'x', url: 'u' } }, { name: 'b' }] };
  expect(withoutFields(value, [['webhooks', 'clientConfig', 'caBundle']])).toEqual({
    webhooks: [{ name: 'a', clientConfig: { url: 'u' } }, { name: 'b' }],
  });
  const taken = { 'f:webhooks': { 'k:{"name":"a"}': { 'f:clientConfig': { 'f:caBundle': {} } } } };
  const injected = { webhooks: [{ name: 'b' }, { name: 'a', clientConfig: { caBundle: 'injected', url: 'u' } }] };
  expect(
    handOver(value, injected, [holder('fleetrelay', 'Apply', taken)], [['webhooks', 'clientConfig', 'caBundle']]),
  ).toEqual({ webhooks: [{ name: 'a', clientConfig: { caBundle: 'injected', url: 'u' } }, { name: 'b' }] });
});
