import { describe, expect, it } from 'vitest';
import { dataplaneIdOf, dataplaneOf } from '../../../../../src/domains/health/model/dataplane.ts';
import { durationMs } from '../../../../../src/model/text/go-duration.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';
import { integerOf, withCamelCaseNames } from '../../../../../src/model/text/proto-json.ts';

const ID = { mesh: 'default', name: 'web' };

const inbounds = (networking: JsonObject) => dataplaneOf({ networking }, ID).inbounds;
const inbound = (fields: JsonObject, networking: JsonObject = {}) =>
  inbounds({ address: '10.0.0.1', inbound: [fields], ...networking })[0];

describe('dataplaneOf', () => {
  it('fills in the addresses and ports of Kuma', () => {
    expect(inbound({ port: 80 })).toEqual({
      address: '10.0.0.1',
      port: 80,
      workload: { address: '10.0.0.1', port: 80 },
      service: '',
      tags: {},
      state: 'Ready',
    });
    expect(inbound({ port: 80, address: '10.0.0.2', servicePort: 8080 })).toMatchObject({
      address: '10.0.0.2',
      workload: { address: '10.0.0.2', port: 8080 },
    });
    expect(inbound({ port: '80', serviceAddress: '127.0.0.1' }, { advertisedAddress: '1.2.3.4' })).toMatchObject({
      address: '1.2.3.4',
      port: 80,
      workload: { address: '127.0.0.1', port: 80 },
    });
  });

  it.each<[JsonValue | undefined, JsonValue | undefined, string, boolean | undefined]>([
    [undefined, undefined, 'Ready', undefined],
    [null, null, 'Ready', undefined],
    ['Ready', { ready: true }, 'Ready', true],
    [0, {}, 'Ready', false],
    ['NotReady', { ready: null }, 'NotReady', false],
    [1, undefined, 'NotReady', undefined],
    ['Ignored', undefined, 'Ignored', undefined],
    [2, { ready: false }, 'Ignored', false],
    ['Someday', undefined, 'NotReady', undefined],
    [7, undefined, 'NotReady', undefined],
  ])('a state of %j and a health of %j are %s and %j', (state, health, expected, ready) => {
    const read = inbound({
      port: 80,
      ...(state === undefined ? {} : { state }),
      ...(health === undefined ? {} : { health }),
    });
    expect(read?.state).toBe(expected);
    expect(read?.ready).toBe(ready);
  });

  it('reads tags, and takes a tag without a value for an empty text', () => {
    const tags = { 'kuma.io/service': 'web', empty: null, number: 1 };
    expect(inbound({ port: 80, tags })).toMatchObject({
      service: 'web',
      tags: { 'kuma.io/service': 'web', empty: '' },
    });
  });

  it('reads the probe of an application', () => {
    const serviceProbe = { interval: '1m30s', timeout: null, healthyThreshold: '4', tcp: {} };
    expect(inbound({ port: 80, serviceProbe })?.serviceProbe).toEqual({ intervalMs: 90_000, healthyThreshold: 4 });
    expect(inbound({ port: 80, serviceProbe: {} })?.serviceProbe).toEqual({});
    expect(inbound({ port: 80, serviceProbe: null })).not.toHaveProperty('serviceProbe');
  });

  it.each([
    [{}, 'delegated'],
    [{ type: 0 }, 'delegated'],
    [{ type: 'DELEGATED' }, 'delegated'],
    [{ type: 1 }, 'builtin'],
    [{ type: 'BUILTIN' }, 'builtin'],
  ])('a gateway of %j is %s, and has no inbounds', (gateway, type) => {
    const tags = { 'kuma.io/service': 'kong' };
    const networking = { address: '10.0.0.1', gateway: { ...gateway, tags }, inbound: [{ port: 80 }] };
    const expected = { ...ID, gateway: { type, service: 'kong', tags }, inbounds: [], listeners: [] };
    expect(dataplaneOf({ networking }, ID)).toEqual(expected);
    expect(dataplaneOf({ networking: { gateway: null } }, ID)).not.toHaveProperty('gateway');
  });

  it('reads the listeners of zone proxies', () => {
    const listeners = [
      { type: 1, address: '10.0.0.1', port: 10_001 },
      { type: 'ZoneEgress', address: '10.0.0.1', port: '10002', state: 1 },
      { type: 0, address: '10.0.0.1', port: 10_003 },
    ];
    expect(dataplaneOf({ networking: { listeners } }, ID).listeners).toEqual([
      { type: 'ZoneIngress', address: '10.0.0.1', port: 10_001, state: 'Ready' },
      { type: 'ZoneEgress', address: '10.0.0.1', port: 10_002, state: 'NotReady' },
    ]);
  });

  it('reads anything', () => {
    const empty = { ...ID, inbounds: [], listeners: [] };
    for (const wrong of [null, 1, 'text', [], true] as const) {
      expect(dataplaneOf({ networking: wrong }, ID)).toEqual(empty);
      expect(
        dataplaneOf({ networking: { address: wrong, inbound: wrong, listeners: wrong, gateway: wrong } }, ID),
      ).toEqual(empty);
      const fields = { port: wrong, address: wrong, tags: wrong, state: wrong, health: wrong, serviceProbe: wrong };
      expect(inbounds({ inbound: [wrong, fields] })).toHaveLength(1);
    }
  });
});

describe('dataplaneIdOf', () => {
  it('reads both forms', () => {
    expect(dataplaneIdOf({ type: 'Dataplane', mesh: 'm', name: 'web' })).toEqual({ mesh: 'm', name: 'web' });
    expect(dataplaneIdOf({ type: 'Dataplane', mesh: '', name: 'web' })).toEqual({ mesh: 'default', name: 'web' });
    const metadata = { name: 'web', namespace: 'shop' };
    expect(dataplaneIdOf({ kind: 'Dataplane', metadata })).toEqual({ mesh: 'default', name: 'web.shop' });
    expect(dataplaneIdOf({ kind: 'Dataplane', mesh: 'm', metadata: { name: 'web' } })).toEqual({
      mesh: 'm',
      name: 'web',
    });
  });
});

describe('the JSON form of Protocol Buffers', () => {
  it('has names in snake_case too, but not in maps of texts', () => {
    const written = { service_probe: { healthy_threshold: 1 }, tags: { my_tag: '1' }, a_b: 1, aB: 2 };
    expect(withCamelCaseNames(written)).toEqual({
      serviceProbe: { healthyThreshold: 1 },
      tags: { my_tag: '1' },
      aB: 2,
    });
  });

  it.each<[JsonValue, number | undefined]>([
    ['0', 0],
    ['1s', 1000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['-1s', -1000],
    ['+2us', 0.002],
    ['3µs', 0.003],
    ['1', undefined],
    ['1 s', undefined],
    ['', undefined],
    ['00', undefined],
    [1, undefined],
    [null, undefined],
  ])('the duration %j has %j milliseconds', (text, expected) => {
    expect(durationMs(text)).toBe(expected);
  });

  it('reads a hostile duration in linear time', () => {
    expect(durationMs(`${'1'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(durationMs('1h'.repeat(100_000))).toBeUndefined();
  });

  it.each<[JsonValue | undefined, number]>([
    [80, 80],
    ['80', 80],
    ['-1', -1],
    [1.5, 0],
    ['x', 0],
    ['', 0],
    [null, 0],
    [undefined, 0],
    [true, 0],
  ])('the integer %j is %d', (value, expected) => {
    expect(integerOf(value)).toBe(expected);
  });
});
