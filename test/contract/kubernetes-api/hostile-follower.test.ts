import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { until } from '../../support/fleet-processes.ts';
import * as hostile from '../../support/kubernetes/hostile-api.ts';
import { createHarness, type Harness } from './harness.ts';
import type { Recorder } from './recorder.ts';

const { added, bookmark, configMap, deleted, events, failure, modified, page, refuse } = hostile;

let harness: Harness;
let api: hostile.HostileApi;
let client: KubeClient;

beforeEach(async () => {
  harness = createHarness();
  api = await hostile.startHostileApi();
  client = await harness.connect(harness.kubeconfigOf(api.url));
});

afterEach(async () => {
  await harness.end();
  await api.close();
});

/** A server that only knows pages, with these objects. */
function paged(items: readonly object[], version: string): void {
  api.always('stream', refuse(422, 'Invalid'));
  api.always('list', page(items, version));
  api.always('watch', events([]));
}

/** A server that knows streams, with these objects. */
function streaming(list: readonly object[], version: string): void {
  api.always('stream', events([...list, bookmark(version, true)]));
  api.always('list', page([], version));
  api.always('watch', events([]));
}

/** A busy machine takes longer for many megabytes than a hurried clock waits. */
async function followPatiently(): Promise<Recorder> {
  const clock = createSystemClock();
  return harness.follow(await harness.connect(harness.kubeconfigOf(api.url), clock), {}, clock);
}

const complete = (recorder: Recorder) => until('complete', () => recorder.states.at(-1) === 'complete');
const names = (recorder: Recorder) => [...recorder.objects.keys()].map((key) => key.split('/')[1]);
const requestsOf = (sort: hostile.RequestSort) => api.requests.filter((request) => request.sort === sort);

describe('a list', () => {
  it('comes as a stream where the server can do it, and the same request goes on as a watch', async () => {
    streaming([added('a', '1'), added('b', '2')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.calls).toEqual(['listing', '+default/a', '+default/b', 'listed']);
    api.sendEvents(modified('a', '11', { x: 'y' }), deleted('b', '12'));
    await until('b is gone', () => names(recorder).join() === 'a');
    expect(recorder.objects.get('default/a')).toMatchObject({ data: { x: 'y' } });
    expect(api.requests).toHaveLength(1);
    expect(api.requests[0]?.query).toMatchObject({
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    expect(Number(api.requests[0]?.query.timeoutSeconds)).toBeGreaterThanOrEqual(240);
  });

  it('comes in pages where the server refuses streams, and the watch begins where the first page was', async () => {
    paged([], '');
    api.next('list', page([configMap('a', '1')], '10', 'next'), page([configMap('b', '2')], '10'));
    const recorder = harness.follow(client, { pageSize: 1 });
    await complete(recorder);
    expect(names(recorder)).toEqual(['a', 'b']);
    expect(requestsOf('list').map(({ query }) => [query.limit, query.continue])).toEqual([
      ['1', undefined],
      ['1', 'next'],
    ]);
    expect(requestsOf('watch')[0]?.query.resourceVersion).toBe('10');
  });

  it('comes in pages where the server takes a stream for a plain watch that never says where the list ends', async () => {
    paged([configMap('a', '1')], '10');
    api.always('stream', events([added('a', '1')]));
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.calls.slice(0, 3)).toEqual(['listing', '+default/a', 'listFailed']);
    expect(names(recorder)).toEqual(['a']);
  });

  it('begins anew when its continue token expires, and nothing that it had not named counts as gone', async () => {
    paged([configMap('a', '1'), configMap('b', '2')], '20');
    api.next('list', page([configMap('a', '1')], '10', 'next'), refuse(410, 'Expired'));
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.calls).toEqual([
      'listing',
      '+default/a',
      'listFailed',
      'listing',
      '+default/a',
      '+default/b',
      'listed',
    ]);
  });

  it.each<[string, hostile.Answer, RegExp]>([
    ['a Status with code 200', hostile.json({ kind: 'Status', status: 'Failure' }), /is no list/],
    ['items that are missing', hostile.json({ kind: 'ConfigMapList', metadata: { resourceVersion: '1' } }), /no items/],
    [
      'items of a wrong type',
      hostile.json({ kind: 'ConfigMapList', metadata: { resourceVersion: '1' }, items: {} }),
      /items/,
    ],
    ['no resourceVersion', hostile.json({ kind: 'ConfigMapList', metadata: {}, items: [] }), /no resourceVersion/],
    ['an item without a name', page([{ metadata: { resourceVersion: '1' } }], '1'), /no name/],
    ['an item that is null', page([null], '1'), /no name/],
    ['an item of another kind', page([{ ...configMap('a', '1'), kind: 'Secret' }], '1'), /is no ConfigMap/],
    ['an item in no namespace', page([{ metadata: { name: 'a', resourceVersion: '1' } }], '1'), /in no namespace/],
    ['half a JSON text', hostile.raw('{"kind":"ConfigMapList","items":['), /not a JSON object/],
    ['a page of a proxy', hostile.raw('<html>it works</html>'), /not a JSON object.*it works/],
    ['a redirection', hostile.raw('', 302, { location: 'https://login.example' }), /302.*login\.example/],
    ['a body in gzip, not asked for', hostile.raw(Buffer.alloc(10), 200, { 'content-encoding': 'gzip' }), /gzip/],
    ['a server error', refuse(500, 'InternalError'), /hostile InternalError/],
    ['a reset', hostile.reset, /connection/],
    ['silence', hostile.silence, /no answer within/],
    ['403', refuse(403, 'Forbidden'), /hostile Forbidden/],
    ['404', refuse(404, 'NotFound'), /hostile NotFound/],
    ['the same continue token again and again', page([], '1', 'again'), /continues where it was/],
  ])(
    '%s makes the kind unknown, never empty, and it is complete again after a complete list',
    async (_, answer, message) => {
      paged([configMap('a', '1')], '10');
      api.next('list', answer, answer);
      const recorder = harness.follow(client);
      await complete(recorder);
      expect(recorder.states[0]).toMatch(/^unknown: /);
      expect(recorder.states[0]).toMatch(message);
      expect(recorder.lists()).toBe(1);
      expect(names(recorder)).toEqual(['a']);
    },
  );

  it('that never ends is given up', async () => {
    paged([configMap('a', '1')], '10');
    let token = 0;
    api.always('list', (response, request) => page([], '1', `token-${token++}`)(response, request));
    const recorder = harness.follow(client);
    await until('unknown', () => recorder.states.length > 0);
    expect(recorder.states[0]).toMatch(/list (has more than 10000 pages|has not ended within 10 minutes)/);
  });

  it('whose pages are too large is asked for in smaller ones', async () => {
    paged([], '');
    const large = { x: 'x'.repeat(1024 * 1024) };
    const all = Array.from({ length: 40 }, (_, index) => configMap(`c${index}`, '1', large));
    api.always('list', (response, request) => {
      const [begin, limit] = [Number(request.query.continue ?? 0), Number(request.query.limit)];
      const end = begin + limit;
      page(all.slice(begin, end), '10', end < all.length ? String(end) : undefined)(response, request);
    });
    const recorder = harness.follow(client, { pageSize: 100 });
    await complete(recorder);
    expect(recorder.objects.size).toBe(40);
    expect(recorder.states[0]).toMatch(/larger than 32 MiB/);
  });

  it('with a body without end is cut off at the limit', async () => {
    paged([configMap('a', '1')], '10');
    const begin = '{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[{}';
    api.next(
      'list',
      hostile.endless(begin, () => `,${' '.repeat(65_536)}`),
    );
    const before = process.memoryUsage().rss;
    const recorder = await followPatiently();
    await complete(recorder);
    expect(recorder.states[0]).toMatch(/larger than 32 MiB/);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });

  it('fills in what items of a list do not say', async () => {
    paged([{ metadata: { name: 'a', namespace: 'default', resourceVersion: '1' } }], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.objects.get('default/a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });
});

describe('a watch', () => {
  it.each<[string, () => void]>([
    ['reset', () => api.cutConnections()],
    ['cut within a line', () => api.endWatches('{"type":"MODIFIED","obj')],
    ['broken by a line that is not JSON', () => api.sendEvents('nonsense')],
    ['broken by an unknown type', () => api.sendEvents({ type: 'GROWN', object: configMap('a', '99') })],
    ['broken by an event without an object', () => api.sendEvents({ type: 'ADDED' })],
    ['broken by an event that is null', () => api.sendEvents('null')],
  ])('that is %s goes on at the last version, bookmarks included', async (_, disturb) => {
    streaming([added('a', '1')], '10');
    api.always('list', page([], '20'));
    const recorder = harness.follow(client);
    await complete(recorder);
    api.sendEvents(added('b', '12'), bookmark('15'));
    await until('b is there', () => names(recorder).includes('b'));
    disturb();
    await until('it watches again', () => requestsOf('watch').length === 1);
    expect(requestsOf('watch')[0]?.query.resourceVersion).toBe('15');
    await until('the watch is open', () => api.openWatches() > 0);
    api.sendEvents(added('c', '21'));
    await until('c is there', () => names(recorder).join() === 'a,b,c');
    expect(recorder.lists()).toBe(1);
    expect(recorder.states).toEqual(['complete']);
  });

  it.each<[string, object]>([
    ['410 as an event', failure(410, 'Expired')],
    ['an error event', failure(500, 'InternalError')],
    ['an object without metadata', { type: 'MODIFIED', object: {} }],
    ['an object without a version', { type: 'MODIFIED', object: { metadata: { name: 'x', namespace: 'y' } } }],
    ['a version that decreases', modified('a', '3')],
    ['a bookmark without a version', { type: 'BOOKMARK', object: { metadata: {} } }],
  ])('that says %s begins with a complete list', async (_, event) => {
    streaming([added('a', '1')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    api.always('stream', events([added('b', '12'), bookmark('20', true)]));
    api.sendEvents(event);
    await until('it was listed again', () => recorder.lists() === 2);
    expect(names(recorder)).toEqual(['b']);
    expect(recorder.states).toEqual(['complete']);
  });

  it('begins with a complete list after 410 as a status, and bears storms of it', async () => {
    paged([configMap('a', '1')], '10');
    api.next('watch', ...Array.from({ length: 3 }, () => refuse(410, 'Gone')));
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.lists()).toBe(4);
    expect(names(recorder)).toEqual(['a']);
  });

  it('lists again when the server is restored from a backup and knows only older versions', async () => {
    streaming([added('a', '1'), added('b', '90')], '100');
    const recorder = harness.follow(client);
    await complete(recorder);
    streaming([added('a', '1')], '50');
    api.always('list', page([configMap('a', '1')], '50', 'more'));
    api.cutConnections();
    await until('it was listed again', () => recorder.lists() === 2);
    expect(names(recorder)).toEqual(['a']);
    expect(recorder.calls).toContain('gone default/b');
  });

  it('takes duplicates', async () => {
    streaming([added('a', '1'), added('a', '1')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    api.sendEvents(added('b', '11'), added('b', '11'), deleted('a', '12'), deleted('a', '12'), bookmark('12'));
    api.sendEvents(added('c', '13'));
    await until('c is there', () => names(recorder).includes('c'));
    expect(names(recorder)).toEqual(['b', 'c']);
    expect(api.requests).toHaveLength(1);
  });

  it('that falls silent is given up and goes on', async () => {
    streaming([added('a', '1')], '10');
    api.always('list', page([], '10'));
    const recorder = harness.follow(client, { watchSeconds: [5, 5] });
    await complete(recorder);
    await until('it watches again', () => requestsOf('watch').length > 0);
    expect(names(recorder)).toEqual(['a']);
    expect(recorder.lists()).toBe(1);
  });

  it('with an event larger than the limit is cut off', async () => {
    streaming([added('a', '1')], '10');
    api.next(
      'stream',
      hostile.endless('{"type":"ADDED","object":{"metadata":{"name":"', () => 'x'.repeat(65_536)),
    );
    const recorder = await followPatiently();
    await complete(recorder);
    expect(recorder.states[0]).toMatch(/larger than 16 MiB/);
    expect(names(recorder)).toEqual(['a']);
  });

  it('that is forbidden makes a kind unknown that can be listed', async () => {
    paged([configMap('a', '1')], '10');
    api.next('watch', refuse(403, 'Forbidden'), refuse(403, 'Forbidden'));
    const recorder = harness.follow(client);
    await complete(recorder);
    expect(recorder.states).toEqual(['unknown: hostile Forbidden', 'complete']);
  });

  it('of a kind that vanishes makes it unknown and keeps the listed objects, until a complete list', async () => {
    streaming([added('a', '1'), added('b', '2')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    for (const sort of ['stream', 'list', 'watch'] as const) api.always(sort, refuse(404, 'NotFound'));
    api.cutConnections();
    await until('unknown', () => recorder.states.at(-1) === 'unknown: hostile NotFound');
    expect(names(recorder)).toEqual(['a', 'b']);
    streaming([added('b', '2')], '30');
    await complete(recorder);
    expect(recorder.calls).toContain('gone default/a');
  });

  it('whose server does not answer for a minute makes the kind unknown', async () => {
    streaming([added('a', '1')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    for (const sort of ['stream', 'list', 'watch'] as const) api.always(sort, hostile.reset);
    api.cutConnections();
    await until('unknown', () => recorder.states.length === 2);
    expect(recorder.states[1]).toMatch(/^unknown: .*connection/);
    expect(names(recorder)).toEqual(['a']);
  });
});

describe('isolation', () => {
  it('events of one kind arrive while another one fails', async () => {
    streaming([added('a', '1')], '10');
    const good = harness.follow(client);
    await complete(good);
    for (const sort of ['stream', 'list', 'watch'] as const) api.always(sort, refuse(500, 'InternalError'));
    const bad = harness.follow(client);
    await until('the other one is unknown', () => bad.states.length > 0);
    api.sendEvents(added('b', '11'));
    await until('b is there', () => names(good).join() === 'a,b');
    expect(good.states).toEqual(['complete']);
  });

  it('a listener that throws misses nothing else', async () => {
    streaming([added('a', '1'), added('b', '2')], '10');
    const recorder = harness.follow(client);
    const upsert = recorder.upsert.bind(recorder);
    recorder.upsert = (key, object) => {
      if (JSON.stringify(object).includes('"name":"a"')) throw new Error('a is too much');
      upsert(key, object);
    };
    await complete(recorder);
    api.sendEvents(modified('a', '11'), added('c', '12'));
    await until('c is there', () => names(recorder).join() === 'b,c');
    expect(api.requests).toHaveLength(1);
  });

  it('a stopped follower asks for nothing more', async () => {
    streaming([added('a', '1')], '10');
    const recorder = harness.follow(client);
    await complete(recorder);
    await harness.end();
    await until('the watch is closed', () => api.openWatches() === 0);
    expect(api.requests).toHaveLength(1);
  });
});
