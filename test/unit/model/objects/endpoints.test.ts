import { describe, expect, it } from 'vitest';
import { servedService, serviceOfEndpoints } from '../../../../src/model/objects/endpoints.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';

const slice = 'discovery.k8s.io/EndpointSlice/web/shop-1' as ObjectKey;
const endpoints = '/Endpoints/web/shop' as ObjectKey;
const labelled = { metadata: { labels: { 'kubernetes.io/service-name': 'shop' } } };

describe('whose addresses an object carries', () => {
  it.each([
    [slice, { ...labelled, endpoints: [{ addresses: ['10.0.0.1'] }] }, 'shop'],
    [slice, { ...labelled, endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false } }] }, 'shop'],
    [slice, { ...labelled, endpoints: [{ addresses: [] }] }, ''],
    [slice, { ...labelled, endpoints: 'nonsense' }, ''],
    [slice, { endpoints: [{ addresses: ['10.0.0.1'] }] }, ''],
    [endpoints, { subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] }, 'shop'],
    [endpoints, { subsets: [{ notReadyAddresses: [{ ip: '10.0.0.1' }] }] }, 'shop'],
    [endpoints, { subsets: [{ ports: [] }] }, ''],
    [endpoints, {}, ''],
    ['/ConfigMap/web/shop' as ObjectKey, {}, undefined],
    ['example.org/Endpoints/web/shop' as ObjectKey, {}, undefined],
  ])('%s %j', (key, value, expected) => {
    expect(servedService(key, value)).toBe(expected);
  });

  it('knows whom an empty one is meant for', () => {
    expect([serviceOfEndpoints(slice, labelled), serviceOfEndpoints(endpoints, {})]).toEqual(['shop', 'shop']);
  });
});
