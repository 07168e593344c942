import { afterEach, describe, expect, test } from 'vitest';
import type { Receipt } from '../../../src/model/fleet/receipt.ts';
import { actsOf } from '../../../src/server/acts.ts';
import type { PeopleApi } from '../../../src/server/people-api.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { fakeApi, HELD_DIGEST } from '../../support/server-api.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const running: RunningServer[] = [];

async function serve(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = await runServer(...args);
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

/** An API whose acts are all done at once, and have this receipt. */
function actsWith(receipt: Receipt): PeopleApi {
  const done = async () => ({ ok: true, value: { done: true }, receipt }) as const;
  const acts = fakeApi().acts.map((act) => ({ ...act, run: done }));
  const others: Readonly<Record<string | symbol, unknown>> = { acts, questions: [] };
  return new Proxy(fakeApi(), { get: (_api, name) => others[name] ?? done });
}

const ACTS = actsOf(fakeApi());

const BODY = { digest: HELD_DIGEST, revision: 'c0ffee' };

function post(url: string, path: string): Promise<Response> {
  const named = path.replace(/:\w+/g, 'east');
  const headers = { 'Content-Type': 'application/json' };
  return apiFetch(`${url}/api/v1${named}`, { method: 'POST', headers, body: JSON.stringify(BODY) });
}

async function errorOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { readonly error: unknown }).error;
}

const paths = ACTS.map(({ path }) => path);
const never = new Promise<boolean>(() => undefined);

describe('an act', () => {
  test.each(paths)('%s is not answered before it is durable', async (path) => {
    const clock = createVirtualClock();
    const written = Promise.withResolvers<boolean>();
    const { url, acts } = await serve({
      api: actsWith({ written: written.promise, problem: () => undefined, cancel: () => undefined }),
      clock,
    });
    let isAnswered = false;
    const asked = post(url, path).finally(() => {
      isAnswered = true;
    });
    // A later question is answered first.
    while (clock.waiting() === 0) await apiFetch(`${url}/api/v1/audit`);
    expect(isAnswered).toBe(false);
    expect((await acts()).map(({ stage }) => stage)).toEqual(['asked']);
    written.resolve(true);
    expect((await asked).status).toBe(200);
    expect((await acts()).map(({ stage }) => stage)).toEqual(['asked', 'done']);
    expect(clock.waiting()).toBe(0);
  });

  test.each(paths)('%s that the store does not confirm is answered with 503 in bounded time', async (path) => {
    const clock = createVirtualClock();
    let cancelled = 0;
    const cancel = (): void => {
      cancelled += 1;
    };
    const { url, acts } = await serve({
      api: actsWith({ written: never, problem: () => 'the disk is full', cancel }),
      clock,
    });
    const asked = post(url, path);
    while (clock.waiting() === 0) await apiFetch(`${url}/api/v1/audit`);
    await clock.advance(8_000);
    const response = await asked;
    const message = expect.stringMatching(/is not known: the disk is full\. Do it again/);
    expect([response.status, await errorOf(response)]).toEqual([503, { reason: 'Unrecorded', message }]);
    expect((await acts()).at(-1)).toMatchObject({ stage: 'unknown', message });
    expect(cancelled).toBe(1);
  });

  test('that another server overrules is answered with 503', async () => {
    const receipt = { written: Promise.resolve(false), problem: () => undefined, cancel: () => undefined };
    const { url, acts } = await serve({ api: actsWith(receipt), clock: createVirtualClock() });
    const response = await post(url, '/clusters/:name/suspend');
    expect([response.status, await errorOf(response)]).toEqual([
      503,
      { reason: 'Unrecorded', message: expect.stringContaining('another server of the fleet leads now') },
    ]);
    expect((await acts()).at(-1)?.stage).toBe('unknown');
  });

  test('that has no result in time, or fails by a defect, is answered with 503 as well', async () => {
    const clock = createVirtualClock();
    const suspendCluster = (name: string): Promise<never> =>
      name === 'east' ? new Promise(() => undefined) : Promise.reject(new Error('a defect'));
    const { url, acts, log } = await serve({ api: { ...fakeApi(), suspendCluster }, clock });
    const asked = post(url, '/clusters/:name/suspend');
    while (clock.waiting() === 0) await apiFetch(`${url}/api/v1/audit`);
    await clock.advance(8_000);
    expect((await asked).status).toBe(503);
    expect((await post(url, '/clusters/west/suspend')).status).toBe(503);
    expect((await acts()).map(({ stage }) => stage)).toEqual(['asked', 'unknown', 'asked', 'unknown']);
    expect(log.lines).toEqual([expect.stringContaining('a defect')]);
  });

  test.each(ACTS.map(({ path, isTrust = false }) => ({ path, isTrust })))(
    '$path says whether a restart forgets it, where the store is memory',
    async ({ path, isTrust }) => {
      const receipt = { written: Promise.resolve(true), problem: () => undefined, cancel: () => undefined };
      const { url } = await serve({ api: actsWith(receipt), storeForgets: true, clock: createVirtualClock() });
      const note = isTrust ? undefined : 'a restart of the server forgets this: its store is of the type memory';
      expect(((await (await post(url, path)).json()) as { readonly note?: string }).note).toBe(note);
    },
  );
});
