import { describe, expect, it } from 'vitest';
import {
  createProbeList,
  kubeletTarget,
  type ListedProbe,
  parseProbeList,
  printProbeList,
} from '../../../../../src/domains/health/probes/probe-list.ts';

const http: ListedProbe = { type: 'http', port: 80, path: '/a b', scheme: 'HTTP', timeoutSeconds: 2 };
const all: readonly ListedProbe[] = [
  http,
  { type: 'http', port: 80, path: '/', scheme: 'HTTPS', host: 'ä.example', timeoutSeconds: 1 },
  { type: 'tcp', port: 5432, timeoutSeconds: 1 },
  { type: 'grpc', port: 9090, service: '', timeoutSeconds: 3 },
  { type: 'virtual', port: 80, path: '/x?y', timeoutSeconds: 1 },
];

describe('a list of probes', () => {
  it('is read as it was printed, each probe once', () => {
    const read = parseProbeList(printProbeList([...all, http]));
    expect(read).toEqual({ ok: true, value: all });
    expect(parseProbeList(printProbeList([]))).toEqual({ ok: true, value: [] });
  });

  it.each([
    ['', 'it is no JSON list of probes'],
    ['{}', 'it is no JSON list of probes'],
    ['[{"type":"tcp","port":1,"timeoutSeconds":1},3]', 'item 1 is no probe'],
    ['[{"type":"tcp","port":70000,"timeoutSeconds":1}]', 'item 0 is no probe'],
    ['[{"type":"tcp","port":7}]', 'item 0 is no probe'],
    ['[{"type":"http","port":7,"path":"x","scheme":"HTTP","timeoutSeconds":1}]', 'item 0 is no probe'],
    ['[{"type":"http","port":7,"path":"/","scheme":"FTP","timeoutSeconds":1}]', 'item 0 is no probe'],
    ['[{"type":"exec","port":7,"path":"/","timeoutSeconds":1}]', 'item 0 is no probe'],
  ])('%s is none', (text, problem) => {
    expect(parseProbeList(text)).toEqual({ ok: false, problem });
  });

  it('knows a probe by all that it asks, and its longest time limit', () => {
    const list = createProbeList([...all, { ...http, timeoutSeconds: 9 }, { ...http, timeoutSeconds: 4 }]);
    const asked = { type: 'http', port: 80, path: '/a%20b', scheme: 'HTTP' } as const;
    expect(list.timeoutOf(asked)).toBe(9);
    expect(list.timeoutOf({ ...asked, path: '/a%20b?' })).toBeUndefined();
    expect(list.timeoutOf({ ...asked, scheme: 'HTTPS' })).toBeUndefined();
    expect(list.timeoutOf({ ...asked, host: 'x' })).toBeUndefined();
    expect(list.timeoutOf({ ...asked, port: 81 })).toBeUndefined();
    expect(list.timeoutOf({ type: 'tcp', port: 80 })).toBeUndefined();
    expect(list.timeoutOf({ type: 'tcp', port: 5432 })).toBe(1);
    expect(list.timeoutOf({ type: 'grpc', port: 9090, service: '' })).toBe(3);
    expect(list.timeoutOf({ type: 'grpc', port: 9090, service: 'x' })).toBeUndefined();
    // A Virtual Probe is none of the proxy's.
    expect(list.timeoutOf({ ...asked, path: '/x?y' })).toBeUndefined();
    expect(list.virtual('/80/x?y')).toMatchObject({ port: 80, path: '/x?y' });
    expect(list.virtual('/80/x')).toBeUndefined();
  });
});

// As Go 1.26 makes them: url.Parse of the path, as in the kubelet, then the request of net/http.
it.each([
  ['/healthz', '/healthz'],
  ['/a b?c=d', '/a%20b?c=d'],
  ['/ä?ä=%zz', '/%C3%A4?ä=%zz'],
  ['/a%2fb%20c', '/a%2fb%20c'],
  ['/a(b)"c', '/a%28b%29%22c'],
  ['/x%zz?y#z', '/x%25zz%3Fy%23z'],
  ['/x?', '/x?'],
  ['/x?a#frag', '/x?a'],
  ['/x#%zz', '/x%23%25zz'],
  ['/[1]!*', '/[1]!*'],
  ['/a//../b', '/a//../b'],
  ['/a\u0001', '/a%01'],
])('for the path %j the kubelet sends %j', (path, sent) => {
  expect(kubeletTarget(path)).toBe(sent);
});
