import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import { createLink } from '../../../src/relay/link.ts';
import { packChunks } from '../../../src/relay/transfer.ts';
import { decodeFrame } from '../../../src/relay/wire/frames.ts';
import { holdingHead, holdingRecords } from '../../../src/relay/wire/output.ts';
import { deaf } from '../../support/relay-deaf.ts';
import { createRelayHarness, EAST, type RelayHarness, type Stranger } from '../../support/relay-harness.ts';
import { createMemoryNetwork } from '../../support/relay-transport.ts';
import { clusterId, createFakeAgent, deltaOf, type FakeAgent, type Outputs } from '../../support/relay-world.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const NOTICED_WITHIN_MS = 30_000;

function reasons(agent: FakeAgent): string[] {
  return agent.states.flatMap((state) => (state.type === 'waiting' ? [state.reason] : []));
}

describe('a dead peer', () => {
  test('is detected by both ends, and the agent reconnects', async () => {
    const world = await createRelayHarness();
    const { agent } = await world.connect();
    world.network.freeze({ up: true, down: true });
    await world.clock.advance(NOTICED_WITHIN_MS);
    expect(world.owner.events.slice(0, 2)).toEqual([
      'connected east instance-1',
      'disconnected east instance-1 PeerSilent',
    ]);
    expect(reasons(agent)[0]).toBe('PeerSilent');
    expect(world.owner.sessions.has(EAST)).toBe(true);
  });

  test.each([
    { up: true, down: false },
    { up: false, down: true },
  ])('is noticed when only one direction is dead (%o)', async (directions) => {
    const world = await createRelayHarness();
    await world.connect();
    world.network.freeze(directions);
    await world.clock.advance(NOTICED_WITHIN_MS);
    expect(world.owner.events).toHaveLength(3);
    expect(world.owner.sessions.has(EAST)).toBe(true);
  });

  test('is not an idle one', async () => {
    const world = await createRelayHarness();
    const { agent } = await world.connect();
    await world.clock.advance(3_600_000);
    expect(world.owner.events).toEqual(['connected east instance-1']);
    expect(reasons(agent)).toEqual([]);
  });

  test('is not one whose words wait because this process stood still', async () => {
    const base = createVirtualClock();
    let stoodStill = 0;
    const clock = { ...base, monotonic: () => base.monotonic() + stoodStill };
    const network = createMemoryNetwork();
    await network.server.start(deaf);
    const stream = network.client.dial().open('Pull', {});
    const sent: string[] = [];
    network.onMessage = (_, bytes) => sent.push(decodeFrame(bytes).case);
    const onFrame = (): void => undefined;
    const common = { stream, clock, log: silentLog, limits: DEFAULT_LIMITS };
    const link = createLink({ ...common, watches: true, saysGoodbye: true, onFrame });
    stoodStill = 120_000;
    await base.advance(DEFAULT_LIMITS.pingMs);
    expect(link.isOver()).toBe(false);
    expect(sent).toEqual(['ping']);
    await base.advance(DEFAULT_LIMITS.silenceMs);
    expect(link.isOver()).toBe(true);
  });
});

describe('another stream of the same cluster', () => {
  test('of the same instance takes over at once', async () => {
    const world = await createRelayHarness();
    await world.connect({ instance: 'the-same-one' });
    await world.connect({ instance: 'the-same-one' });
    expect(world.owner.events.slice(0, 3)).toEqual([
      'connected east the-same-one',
      'disconnected east the-same-one Superseded',
      'connected east the-same-one',
    ]);
  });

  function refuseSecond({ owner }: RelayHarness): void {
    owner.admission = (hello) => {
      const live = owner.sessions.get(hello.cluster)?.session.hello;
      return live === undefined || live.instance === hello.instance
        ? { type: 'admitted' }
        : { type: 'refused', reason: 'SecondAgent', message: `${live.instance} is connected` };
    };
  }

  test('takes over from a dead session of the same id as soon as that has answered no ping', async () => {
    const world = await createRelayHarness();
    refuseSecond(world);
    await world.connect();
    world.network.freeze({ up: true, down: true });
    const second = await world.connect();
    await world.clock.advance(DEFAULT_LIMITS.probeMs);
    expect(world.owner.events).toEqual([
      'connected east instance-1',
      'disconnected east instance-1 PeerSilent',
      'connected east instance-2',
    ]);
    expect(reasons(second.agent)).toEqual([]);
  });

  test('is decided on beside a live one, which stays connected', async () => {
    const world = await createRelayHarness();
    refuseSecond(world);
    await world.connect();
    const second = await world.connect();
    expect(reasons(second.agent)).toEqual(['SecondAgent']);
    expect(world.owner.events).toEqual(['connected east instance-1']);
  });

  test('of another cluster id does not even make the first prove itself', async () => {
    const world = await createRelayHarness();
    refuseSecond(world);
    await world.connect();
    world.network.freeze({ up: true, down: true });
    const other = await world.connect({ clusterId: clusterId('another') });
    expect(reasons(other.agent)).toEqual(['SecondAgent']);
    expect(world.owner.events).toEqual(['connected east instance-1']);
  });
});

describe('a slow agent', () => {
  const big: Outputs = new Map(Array.from({ length: 40 }, (_, index) => [`big${index}`, noise(index, 150_000)]));

  async function silentAgent(window: number): Promise<{ world: RelayHarness; stranger: Stranger }> {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull');
    await stranger.hello({ limits: { objectBytes: 1n << 30n, window } as never });
    await stranger.hear();
    const holding = createFakeAgent().holding();
    await stranger.say({ case: 'begin', value: { transfer: 1n, subject: holdingHead(holding) } });
    for (const [index, chunk] of [...packChunks(holdingRecords(holding))].entries()) {
      await stranger.say({ case: 'chunk', value: { transfer: 1n, index, ...chunk } });
    }
    await world.clock.settle();
    return { world, stranger };
  }

  test('gets no more chunks than its window until it acknowledges some', { timeout: 60_000 }, async () => {
    const { world, stranger } = await silentAgent(4);
    const chunks: number[] = [];
    void (async () => {
      for (let frame = await stranger.hear(); frame !== undefined; frame = await stranger.hear()) {
        if (frame.case === 'chunk') chunks.push(frame.value.index);
      }
    })();
    const sending = world.owner.sessions.get(EAST)?.session.send(deltaOf(new Map(), big, { epoch: 1, sequence: 1 }));
    await world.clock.settle();
    expect(chunks).toEqual([0, 1, 2, 3]);
    await stranger.say({ case: 'chunkAck', value: { transfer: 1n, received: 3 } });
    await world.clock.settle();
    expect(chunks).toEqual([0, 1, 2, 3, 4, 5, 6]);
    world.network.cut();
    expect(await sending).toEqual({ type: 'disconnected' });
  });

  test.each([
    ['acknowledges nothing', 'PeerStalled', false],
    ['never answers', 'NoAnswer', true],
  ] as const)('that %s is given up in the end, although it lives', async (_what, reason, acknowledges) => {
    const { world, stranger } = await silentAgent(4);
    void (async () => {
      for (let frame = await stranger.hear(); frame !== undefined; frame = await stranger.hear()) {
        if (frame.case === 'ping') await stranger.say({ case: 'pong', value: { number: frame.value.number } });
        if (frame.case === 'chunk' && acknowledges) {
          await stranger.say({ case: 'chunkAck', value: { transfer: 1n, received: frame.value.index + 1 } });
        }
      }
    })();
    const sending = world.owner.sessions.get(EAST)?.session.send(deltaOf(new Map(), big, { epoch: 1, sequence: 1 }));
    await world.clock.advance(DEFAULT_LIMITS.stallMs + DEFAULT_LIMITS.answerMs);
    expect(await sending).toEqual({ type: 'disconnected' });
    expect((await stranger.ended).reason).toBe(reason);
  });

  test('costs the memory of a few chunks: records are made when there is room', () => {
    let made = 0;
    const records = (function* () {
      for (; made < 10_000; made += 1) {
        yield { case: 'keep' as const, value: { key: '/Pod/web/x', reason: noise(made, 4_000) } };
      }
    })();
    packChunks(records).next();
    expect(made).toBeLessThan(150);
  });

  test('that writes much itself does not make both ends wait for each other', { timeout: 60_000 }, async () => {
    const world = await createRelayHarness({ window: 2 });
    const { client, agent } = await world.connect({ limits: { window: 2 } });
    const digest = agent.holding().digest;
    const results = Array.from({ length: 3_000 }, (_, index) => {
      const key = `/Pod/web/p${index}` as never;
      return { key, digest, state: 'failed' as const, reason: 'Failed', message: noise(index, 4_000) };
    });
    const sending = world.owner.sessions.get(EAST)?.session.send(deltaOf(new Map(), big, { epoch: 1, sequence: 1 }));
    client.report(results);
    for (let turn = 0; turn < 100 && world.owner.received.length < 3_000; turn += 1) await world.clock.settle();
    expect(await sending).toEqual({ type: 'accepted' });
    expect(world.owner.received).toHaveLength(3_000);
  });
});

describe('coming back', () => {
  test('pauses grow while no server answers, with jitter, up to their limit', async () => {
    const world = await createRelayHarness();
    world.network.reachable = false;
    const { agent } = await world.connect();
    await world.clock.advance(300_000);
    const pauses = agent.states.flatMap((state) => (state.type === 'waiting' ? [state.retryInMs] : []));
    expect(pauses.slice(0, 8)).toEqual([375, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500]);
    world.network.reachable = true;
    await world.clock.advance(30_000);
    expect(world.owner.sessions.has(EAST)).toBe(true);
  });

  test('a token is read anew at each dial', async () => {
    const world = await createRelayHarness();
    const right = world.stranger('Pull');
    right.stream.end({ code: 'done', reason: 'Closed', message: '' });
    let token = 'frt1_old';
    const { connectionToken } = await import('../../../src/relay/trust/tokens.ts');
    const { agent } = await world.connect({ token: () => token });
    await world.clock.advance(1_000);
    expect(reasons(agent)).toEqual(['WrongToken']);
    token = `${connectionToken(new Uint8Array(32).fill(7), EAST)}\n`;
    await world.clock.advance(5_000);
    expect(world.owner.sessions.has(EAST)).toBe(true);
  });

  test('a token that cannot be read is reported and retried', async () => {
    const world = await createRelayHarness();
    const token = (): string => {
      throw new Error('the token file /etc/token is missing');
    };
    const { agent, client } = await world.connect({ token });
    expect(agent.states.at(-1)).toMatchObject({
      reason: 'BadSettings',
      message: 'the token file /etc/token is missing',
    });
    await client.stop();
  });
});

/** Text that does not compress away. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    text += state.toString(36).padStart(8, '0');
  }
  return text.slice(0, length);
}
