import { beforeEach, expect, test } from 'vitest';
import type { RegistrationAnswer } from '../../src/ports/transport.ts';
import { registerRequestBytes } from '../../src/relay/wire/frames.ts';
import { createRelayHarness, type RelayHarness, SECRET } from '../support/relay-harness.ts';
import { createFakeOwner } from '../support/relay-world.ts';
import { createScriptedAuthority } from '../support/scripted-authority.ts';
import { silentLog } from '../support/silent-log.ts';
import { lastingToken } from '../support/tokens.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const SHARED = 'a-token-that-all-clusters-share';

let harness: RelayHarness;

beforeEach(async () => {
  const authority = await createScriptedAuthority(createVirtualClock());
  const options = { mode: 'mtls', sharedToken: SHARED } as const;
  harness = await createRelayHarness({}, createFakeOwner(), silentLog, options, { authority });
});

function ask(cluster: string, token = lastingToken(SECRET, cluster)): Promise<RegistrationAnswer> {
  const certificateRequest = Uint8Array.of(1);
  const bytes = registerRequestBytes({ cluster, clusterId: `${cluster}-id`, version: '1.0.0', certificateRequest });
  const metadata = { 'fleetrelay-cluster': cluster, authorization: `Bearer ${token}` };
  return harness.network.client.dial(undefined).register(bytes, metadata);
}

const reasonOf = (answer: RegistrationAnswer): string => ('response' in answer ? 'Issued' : answer.refused.reason);

/** Asks 25 times a second for twelve seconds; returns how often each answer was given. */
async function flood(cluster: string): Promise<ReadonlyMap<string, number>> {
  const answers: string[] = [];
  for (let second = 0; second < 12; second += 1) {
    for (let at = 0; at < 25; at += 1) answers.push(reasonOf(await ask(cluster)));
    await harness.clock.advance(1_000);
  }
  return new Map([...Map.groupBy(answers, (answer) => answer)].map(([answer, all]) => [answer, all.length]));
}

test('a cluster that asks 25 times a second gets 5 certificates and then one a minute, and another one is answered', async () => {
  expect(await flood('east')).toEqual(
    new Map([
      ['Issued', 5],
      ['RateLimited', 295],
    ]),
  );
  expect(reasonOf(await ask('west'))).toBe('Issued');
  await harness.clock.advance(48_000);
  expect([reasonOf(await ask('east')), reasonOf(await ask('east'))]).toEqual(['Issued', 'RateLimited']);
});

test('forty clusters that flood in turn leave the others what they need', async () => {
  for (let at = 0; at < 40; at += 1) {
    for (let again = 0; again < 6; again += 1) await ask(`hostile-${at}`);
  }
  // 200 certificates were issued at once, which is the burst of all together.
  expect(reasonOf(await ask('west'))).toBe('RateLimited');
  await harness.clock.advance(1_000);
  expect(reasonOf(await ask('west'))).toBe('Issued');
});

test('callers with the shared token use up nothing of the clusters that prove who they are', async () => {
  for (let at = 0; at < 300; at += 1) await ask(`new-${at}`, SHARED);
  expect(reasonOf(await ask('other', SHARED))).toBe('RateLimited');
  expect(reasonOf(await ask('west'))).toBe('Issued');
});
