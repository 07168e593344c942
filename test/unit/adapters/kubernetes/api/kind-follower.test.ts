import { describe, expect, it } from 'vitest';
import { createKindFollower } from '../../../../../src/adapters/kubernetes/api/kind-follower.ts';
import type {
  KubeAnswer,
  KubeClient,
  KubeRefusal,
  KubeRequest,
  KubeWatchRequest,
  WatchEnd,
  WatchEvent,
} from '../../../../../src/adapters/kubernetes/api/types.ts';
import type { Random } from '../../../../../src/ports/random.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { createVirtualClock, type VirtualClock } from '../../../../support/virtual-clock.ts';

const CONFIG_MAPS = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' },
  ...{ namespaced: true, verbs: [], subresources: [] },
};
const middle: Random = { next: () => 0.5, id: () => '0' };

type Watch = (request: KubeWatchRequest, event: (event: WatchEvent) => void) => Promise<WatchEnd>;

const ended = (version: string, listEnd: boolean): WatchEvent => ({
  type: 'BOOKMARK',
  object: {
    metadata: { resourceVersion: version, annotations: listEnd ? { 'k8s.io/initial-events-end': 'true' } : {} },
  },
});
const refusal = (reason: string, retryAfterMs?: number): KubeRefusal => {
  return { reason, message: reason, causes: [], ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
};
const refused = (status: number, reason: string, retryAfterMs?: number): WatchEnd => {
  return { type: 'refused', status, refusal: refusal(reason, retryAfterMs) };
};

/** A follower in virtual time; `watch` and `list` answer it and can be changed. */
function setUp(watching: (clock: VirtualClock) => Watch) {
  const clock = createVirtualClock();
  const asked: { readonly at: number; readonly query: Readonly<Record<string, string>>; readonly silentMs: number }[] =
    [];
  const told: string[] = [];
  const world = {
    watch: watching(clock),
    list: (_: KubeRequest): KubeAnswer => ({
      type: 'ok',
      status: 200,
      body: { kind: 'ConfigMapList', metadata: { resourceVersion: '10' }, items: [] },
    }),
  };
  const client: KubeClient = {
    server: 'https://test',
    request: async (request) => {
      asked.push({ at: clock.monotonic(), query: request.query ?? {}, silentMs: 0 });
      return world.list(request);
    },
    watch: async (request, event) => {
      asked.push({ at: clock.monotonic(), query: request.query, silentMs: request.silentMs });
      return await world.watch(request, event);
    },
    close: async () => undefined,
  };
  const follower = createKindFollower(
    { client, clock, random: middle, log: silentLog },
    { resource: CONFIG_MAPS },
    {
      keys: () => [],
      listing: () => void told.push('listing'),
      upsert: () => undefined,
      gone: () => undefined,
      listEnded: (complete) => void told.push(complete ? 'listed' : 'listFailed'),
      state: (state, message) => void told.push(message === '' ? state : `${state} ${message}`),
    },
  );
  follower.start();
  return { clock, asked, told, world, follower };
}

/** A watch that opens, lists nothing, and lives so long before it ends like this. */
function living(clock: VirtualClock, milliseconds: number, end: WatchEnd): Watch {
  return async (request, event) => {
    request.opened?.();
    if (request.query.sendInitialEvents === 'true') event(ended('10', true));
    await clock.sleep(milliseconds, request.signal);
    return request.signal.aborted ? { type: 'closed' } : end;
  };
}

function gaps(times: readonly number[]): readonly number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

describe('pauses', () => {
  it('grow with every error up to half a minute, and start over after a watch that was open for a while', async () => {
    const { clock, asked, world } = setUp(() => async () => refused(500, 'InternalError'));
    await clock.advance(120_000);
    expect(gaps(asked.map(({ at }) => at))).toEqual([
      375, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500, 22_500,
    ]);
    world.watch = living(clock, 11_000, { type: 'broken', message: 'reset' });
    await clock.advance(22_500);
    asked.length = 0;
    world.watch = async () => ({ type: 'broken', message: 'reset' });
    await clock.advance(11_000);
    expect(
      gaps(asked.map(({ at }) => at))
        .filter((gap) => gap > 0)
        .slice(0, 3),
    ).toEqual([750, 1_500, 3_000]);
  });

  it('grow when a server ends each watch after a moment, although without an error', async () => {
    const { clock, asked } = setUp((clock) => living(clock, 10, { type: 'closed' }));
    await clock.advance(10_000);
    expect(gaps(asked.map(({ at }) => at))).toEqual([385, 760, 1_510, 3_010]);
  });

  it('are not made after a watch that ended at its time limit', async () => {
    const { clock, asked, told } = setUp((clock) => (request, event) => {
      const seconds = Number(request.query.timeoutSeconds);
      return living(clock, seconds * 1_000, { type: 'closed' })(request, event);
    });
    await clock.advance(1_000_000);
    expect(gaps(asked.map(({ at }) => at))).toEqual([360_000, 360_000]);
    expect(asked[1]?.query).toMatchObject({
      resourceVersion: '10',
      timeoutSeconds: '360',
      allowWatchBookmarks: 'true',
    });
    expect(told).toEqual(['listing', 'listed', 'complete']);
  });

  it('are at least as long as the server asks for, up to a limit', async () => {
    const { clock, asked, world } = setUp(() => async () => refused(429, 'TooManyRequests', 40_000));
    await clock.advance(70_000);
    expect(gaps(asked.map(({ at }) => at))).toEqual([60_000]);
    world.watch = async () => refused(429, 'TooManyRequests', 1e12);
    await clock.advance(50_000);
    await clock.advance(240_000);
    expect(gaps(asked.map(({ at }) => at))).toEqual([60_000, 60_000, 180_000]);
  });
});

describe('a kind', () => {
  it('stays complete through failures of less than a minute and is listed again after longer ones', async () => {
    const { clock, asked, told, world } = setUp((clock) => living(clock, 20_000, { type: 'broken', message: 'reset' }));
    await clock.advance(19_000);
    world.list = () => ({ type: 'unreachable', message: 'no server there' });
    await clock.advance(50_000);
    expect(told).toEqual(['listing', 'listed', 'complete']);
    await clock.advance(40_000);
    expect(told.slice(3)).toEqual(['unknown no server there']);
    await clock.advance(20_000);
    expect(asked.at(-1)?.query.sendInitialEvents).toBe('true');
    expect(told.slice(4)).toEqual(['listing', 'listed', 'complete']);
  });

  it('is unknown at once when it is refused', async () => {
    const { clock, told, world } = setUp((clock) => living(clock, 20_000, { type: 'closed' }));
    await clock.advance(1_000);
    world.watch = async () => refused(403, 'Forbidden');
    await clock.advance(20_000);
    expect(told.at(-1)).toBe('unknown Forbidden');
  });
});

describe('silence', () => {
  it('of a stream that never ends its list: pages are requested after ten seconds', async () => {
    const { clock, asked, told } = setUp((clock) => async (request) => {
      request.opened?.();
      await clock.sleep(1e9, request.signal);
      return { type: 'closed' };
    });
    await clock.advance(9_000);
    expect(asked).toHaveLength(1);
    await clock.advance(2_000);
    expect(asked[1]?.query).toEqual({ limit: '500' });
    expect(told).toEqual(['listing', 'listFailed', 'listing', 'listed', 'complete']);
  });

  it('is not needed: pages replace a stream whose list goes on for more than a minute', async () => {
    const { clock, asked } = setUp((clock) => async (request, event) => {
      request.opened?.();
      while (!request.signal.aborted) {
        event(ended('1', false));
        await clock.sleep(1_000, request.signal);
      }
      return { type: 'closed' };
    });
    await clock.advance(59_000);
    expect(asked).toHaveLength(1);
    await clock.advance(2_000);
    expect(asked[1]?.query).toEqual({ limit: '500' });
  });

  it('may last a little longer than the watch; on a server that sends bookmarks less long', async () => {
    const { clock, asked } = setUp((clock) => async (request, event) => {
      request.opened?.();
      event(ended('10', request.query.sendInitialEvents === 'true'));
      await clock.sleep(360_000, request.signal);
      return { type: 'closed' };
    });
    await clock.advance(730_000);
    expect(asked.map(({ silentMs }) => silentMs)).toEqual([390_000, 390_000, 240_000]);
  });
});

it('stops during a watch and during a pause', async () => {
  const { clock, asked, follower } = setUp((clock) => living(clock, 1e9, { type: 'closed' }));
  await clock.advance(1_000);
  await follower.stop();
  await clock.advance(1_000_000);
  expect(asked).toHaveLength(1);
  expect(clock.waiting()).toBe(0);
  const idle = setUp(() => async () => refused(500, 'InternalError'));
  await idle.clock.advance(100);
  await idle.follower.stop();
  expect(idle.clock.waiting()).toBe(0);
});
