import { expect, test } from 'vitest';
import { compareFields, ourFields } from '../../../../../src/adapters/kubernetes/cluster/ownership.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const about = (value: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'K',
  metadata: { name: 'n', namespace: 'ns' },
  ...value,
});
const missing = (value: JsonObject, fields: JsonObject) => compareFields(about(value), fields).missing;

test('a field that is in the set is owned; another one is named as the API server names it', () => {
  const judged = compareFields(about({ spec: { a: 1, b: { c: 'x' } } }), { 'f:spec': { 'f:a': {} } });
  expect(judged).toEqual({ owned: ['.spec.a'], missing: ['.spec.b.c'] });
});

test('the identity is no field, and neither is a null or an empty list', () => {
  expect(missing({ spec: { none: null, list: [] } }, { 'f:x': {} })).toEqual([]);
});

test('an empty map is a field; an empty list is one if lists are atomic, or if the live list has items', () => {
  const value = about({ spec: { map: {}, list: [], items: [{ name: 'a', list: [] }] } });
  const item = { 'k:{"name":"a"}': { 'f:name': {} } };
  const judged = (fields: JsonObject, live: JsonObject) => compareFields(value, { 'f:spec': fields }, () => live);
  const complete = { 'f:map': {}, 'f:list': {}, 'f:items': item };
  expect(judged(complete, {}).missing).toEqual([]);
  expect(judged({ 'f:items': item }, {}).missing).toEqual(['.spec.map']);
  const filled = { spec: { list: ['x'], items: [{ name: 'b' }, { name: 'a', list: ['x'] }] } };
  expect(judged({ 'f:map': {}, 'f:items': item }, filled).missing).toEqual([
    '.spec.list',
    '.spec.items[name="a"].list',
  ]);
  expect(judged(complete, filled).missing).toEqual(['.spec.items[name="a"].list']);
});

test('an empty field set owns no field', () => {
  expect(missing({ data: { k: '1' } }, {})).toEqual(['.data.k']);
});

test('an atomic field is owned with everything in it', () => {
  expect(
    missing({ selector: { app: 'web' }, rules: [{ verbs: ['get'] }] }, { 'f:selector': {}, 'f:rules': {} }),
  ).toEqual([]);
});

test('an item of a list is found by its keys, those that a server adds included', () => {
  const ports = [{ port: 80 }, { port: 80, protocol: 'UDP', name: 'dns' }];
  const fields = {
    'f:ports': {
      'k:{"port":80,"protocol":"UDP"}': { '.': {}, 'f:name': {}, 'f:port': {}, 'f:protocol': {} },
      'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} },
    },
  };
  expect(missing({ ports }, fields)).toEqual([]);
  const { 'k:{"port":80,"protocol":"TCP"}': _tcp, ...udp } = fields['f:ports'];
  expect(missing({ ports }, { 'f:ports': udp })).toEqual(['.ports[]']);
});

test('a field of an item that another manager has taken is missing', () => {
  const containers = [{ name: 'main', image: 'x' }];
  const fields = { 'f:containers': { 'k:{"name":"main"}': { '.': {}, 'f:name': {} } } };
  expect(missing({ containers }, fields)).toEqual(['.containers[name="main"].image']);
});

test('members of a set are owned one by one', () => {
  const fields = { 'f:metadata': { 'f:finalizers': { 'v:"a/b"': {} } } };
  const value = { metadata: { name: 'n', finalizers: ['a/b', 'c/d'] } };
  expect(missing(value, fields)).toEqual(['.metadata.finalizers["c/d"]']);
});

test('a list of which only the list itself is owned has lost its items', () => {
  expect(missing({ ports: [{ port: 80 }] }, { 'f:ports': { '.': {} } })).toEqual(['.ports[]']);
});

test('a map of which every member was taken is distinguished from an atomic one', () => {
  const entry = (manager: string, operation: string, fieldsV1: JsonObject) => ({ manager, operation, fieldsV1 });
  const held = (spec: JsonObject, ours: JsonObject, theirs: JsonObject) =>
    ourFields({
      metadata: {
        managedFields: [entry('fleetrelay', 'Apply', { 'f:spec': ours }), entry('x', 'Update', { 'f:spec': theirs })],
      },
      spec,
    });
  const bare = { 'f:spec': { 'f:a': { '.': {} } } };
  expect(held({ a: { b: '2' } }, { 'f:a': {} }, { 'f:a': { 'f:b': {} } })).toEqual(bare);
  expect(held({ a: {} }, { 'f:a': {} }, {})).toEqual(bare);
  expect(compareFields(about({ spec: { a: { b: '1' } } }), bare).missing).toEqual(['.spec.a.b']);
  expect(compareFields(about({ spec: { a: {} } }), bare).missing).toEqual([]);
  expect(held({ a: { b: '1' } }, { 'f:a': {} }, { 'f:c': {} })).toEqual({ 'f:spec': { 'f:a': {} } });
});
