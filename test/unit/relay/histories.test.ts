import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TAKES_SETTINGS } from '../../../src/model/agent/agent.ts';
import { type AgentSettings, NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { Digest } from '../../../src/model/fleet/ids.ts';
import { comparePositions, type OutputPosition } from '../../../src/model/fleet/output.ts';
import type { AgentSession } from '../../../src/relay/session.ts';
import { createRelayHarness, EAST, type RelayHarness } from '../../support/relay-harness.ts';
import {
  createFakeAgent,
  deltaOf,
  type FakeAgent,
  inputOf,
  type Outputs,
  outputsDigest,
} from '../../support/relay-world.ts';

const names = fc.array(fc.nat(3), { maxLength: 3 });
/** Messages after which everything breaks. */
const cutAfter = fc.option(fc.nat(7), { nil: undefined });

/** A step of a history: what the server wants, what the cluster looks like, or what happens to disk and network. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('want' as const), names, datum: fc.nat(1), cutAfter }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('live' as const), names, datum: fc.nat(1), cutAfter }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('settings' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cut' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('freeze' as const), up: fc.boolean(), down: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('disk' as const), works: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('advance' as const), milliseconds: fc.nat(40_000) }) },
);

/** A server's owner as small as can be: always brings the agent to what is wanted now. */
interface Driver {
  wanted: Outputs;
  readonly sent: Map<Digest, Outputs>;
  /** Settings that were decided on; the newest counts. */
  settings: number;
  sequence: number;
  session: AgentSession | undefined;
  /** What the agent holds as far as this end knows; undefined when only the next session can tell. */
  holds: Outputs | undefined;
  sending: boolean;
}

function pump(world: RelayHarness, driver: Driver): void {
  const connected = world.owner.sessions.get(EAST);
  if (connected === undefined) return;
  if (driver.session !== connected.session) {
    driver.session = connected.session;
    connected.session.settings(settingsOf(driver.settings));
    driver.holds = driver.sent.get(connected.holding.digest);
    driver.sending = false;
  }
  if (!driver.sending) void sendUntilDone(driver, connected.session);
}

/** The number is told by the namespaces that are left out. */
function settingsOf(number: number): AgentSettings {
  return { ...NO_SETTINGS, discovery: { excludedNamespaces: [`n${number}`], excludedKinds: [] } };
}

async function sendUntilDone(driver: Driver, session: AgentSession): Promise<void> {
  driver.sending = true;
  while (driver.session === session && driver.holds !== undefined) {
    const from = driver.holds;
    const to = driver.wanted;
    if (outputsDigest(from) === outputsDigest(to)) break;
    driver.sequence += 1;
    driver.sent.set(outputsDigest(to), to);
    const outcome = await session.send(deltaOf(from, to, { epoch: 1, sequence: driver.sequence }));
    if (driver.session !== session) return;
    if (outcome.type === 'accepted') driver.holds = to;
    else
      driver.holds =
        outcome.type === 'rejected' ? outcome.holding && driver.sent.get(outcome.holding.digest) : undefined;
  }
  driver.sending = false;
}

function watchAgent(agent: FakeAgent, driver: Driver): () => void {
  let last: OutputPosition = agent.position();
  return () => {
    const { position, digest } = agent.holding();
    expect(comparePositions(position, last)).toBeGreaterThanOrEqual(0);
    expect(driver.sent.has(digest)).toBe(true);
    last = position;
  };
}

test('through random faults the agent always holds a sent output, never an earlier one than before, and the newest one in the end', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const nothing: Outputs = new Map();
      const driver: Driver = {
        wanted: nothing,
        sent: new Map([[outputsDigest(nothing), nothing]]),
        settings: 0,
        sequence: 0,
        session: undefined,
        holds: undefined,
        sending: false,
      };
      const agent = createFakeAgent();
      const world = await createRelayHarness();
      const { client } = await world.connect({ capabilities: [TAKES_SETTINGS] }, agent);
      const check = watchAgent(agent, driver);
      // As the agent states it: one view that goes on changing, and what changed in it.
      const live = { objects: new Map(inputOf({}).objects), kinds: inputOf({}).kinds };
      const disk = createDisk(agent);
      for (const action of steps) {
        if ('cutAfter' in action && action.cutAfter !== undefined) breakAfter(world, action.cutAfter);
        if (action.type === 'want') {
          driver.wanted = new Map(action.names.map((name) => [`o${name}`, String(action.datum)]));
        } else if (action.type === 'live') {
          const next = inputOf(
            Object.fromEntries(action.names.map((name) => [`l${name}`, String(action.datum)])),
          ).objects;
          const all = [...live.objects.keys(), ...next.keys()];
          const changed = new Set(all.filter((key) => live.objects.get(key)?.digest !== next.get(key)?.digest));
          live.objects.clear();
          for (const [key, object] of next) live.objects.set(key, object);
          client.publishInput(live, changed);
        } else if (action.type === 'settings') {
          driver.settings += 1;
          world.owner.sessions.get(EAST)?.session.settings(settingsOf(driver.settings));
        } else if (action.type === 'cut') world.network.cut();
        else if (action.type === 'freeze') world.network.freeze(action);
        else if (action.type === 'disk') disk(action.works);
        else await world.clock.advance(action.milliseconds);
        pump(world, driver);
        await world.clock.settle();
        check();
      }
      world.network.onMessage = () => undefined;
      world.network.freeze({ up: false, down: false });
      disk(true);
      client.publishInput(live, new Set());
      for (let round = 0; round < 4; round += 1) {
        await world.clock.advance(20_000);
        pump(world, driver);
        await world.clock.settle();
        check();
      }
      expect(agent.settingsHeard.at(-1)).toEqual(settingsOf(driver.settings));
      expect(agent.holding().digest).toBe(outputsDigest(driver.wanted));
      const held = [...(world.owner.held.get(EAST) ?? [])].sort();
      expect(held).toEqual([...live.objects].map(([key, { digest }]) => [key, digest]).sort());
      await Promise.all([client.stop(), world.clock.advance(5_000)]);
    }),
    { numRuns: 60 },
  );
});

function breakAfter(world: RelayHarness, messages: number): void {
  let left = messages;
  world.network.onMessage = () => {
    left -= 1;
    if (left < 0) {
      world.network.onMessage = () => undefined;
      world.network.cut();
    }
  };
}

/** A disk that can be made to hang, and to go on. */
function createDisk(agent: FakeAgent): (works: boolean) => void {
  let release = (): void => undefined;
  return (works) => {
    release();
    const gate = Promise.withResolvers<void>();
    release = gate.resolve;
    agent.gate = works ? Promise.resolve() : gate.promise;
  };
}
