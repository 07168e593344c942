import { beforeEach, expect, test } from 'vitest';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import type { ClientTrust, TrustedConnection } from '../../../src/relay/trust/client-trust.ts';
import { createGivenTrust } from '../../../src/relay/trust/client-trust.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createMemoryNetwork } from '../../support/relay-transport.ts';
import { clusterName } from '../../support/relay-world.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const requests = createCertificateRequests();

let clock: VirtualClock;
let log: ReturnType<typeof createRecordingLog>;
let certificate: string;
let issue: (days: number) => Promise<string>;
let trust: ClientTrust;

beforeEach(async () => {
  clock = createVirtualClock();
  log = createRecordingLog();
  const authority = await createTestAuthority(clock.now() - DAY_MS, clock.now() + 3650 * DAY_MS);
  const { key, request } = await requests.create();
  const started = clock.now();
  issue = (days) => authority.issue(request, { names: ['east'], from: started - 1, to: started + days * DAY_MS });
  const { client: transport } = createMemoryNetwork();
  const agent = { cluster: clusterName('east'), token: () => '' };
  trust = createGivenTrust({ transport, clock, log }, agent, () => ({ key, certificate }));
});

async function dial(): Promise<TrustedConnection> {
  const opened = await trust.open(undefined, new AbortController().signal);
  if ('code' in opened) throw new Error(opened.message);
  return opened;
}

const lines = (text: string): number => log.lines.filter((line) => line.text === `warn: relay: ${text}`).length;
const soon = (): number => lines('the client certificate runs out soon');

test('a given certificate is warned of from thirty days before its end, once a day, while the link is up', async () => {
  certificate = await issue(40);
  const over = new AbortController();
  trust.keep(await dial(), over.signal);
  await clock.advance(9.9 * DAY_MS);
  expect(soon()).toBe(0);
  await clock.advance(0.2 * DAY_MS);
  expect(soon()).toBe(1);
  for (let again = 0; again < 5; again += 1) await dial();
  expect(soon(), 'not at each dial').toBe(1);
  await clock.advance(3 * DAY_MS);
  expect(soon()).toBe(4);
  await clock.advance(27 * DAY_MS);
  expect(lines('the client certificate has run out')).toBeGreaterThan(0);
  over.abort();
  await clock.advance(DAY_MS);
  expect(clock.waiting()).toBe(0);
});

test('replaced and damaged files are noticed while the link is up', async () => {
  certificate = await issue(20);
  const over = new AbortController();
  trust.keep(await dial(), over.signal);
  expect(soon()).toBe(1);
  certificate = 'half';
  await clock.advance(1.1 * DAY_MS);
  expect(lines('the client certificate could not be shown at the next dial')).toBe(1);
  certificate = await issue(200);
  await clock.advance(100 * DAY_MS);
  expect(log.lines).toHaveLength(2);
  expect(trust.expiresAt()).toBe(clock.now() + Math.round((200 - 101.1) * DAY_MS));
  over.abort();
});
