import type { ClientConnection, StreamEnd } from '../../ports/transport.ts';
import { streamMetadata } from './client-trust.ts';
import { believedOnly, type Enrolment, saveIssued } from './enrolment-state.ts';
import type { HeldPair } from './held-credentials.ts';
import { register } from './register.ts';

/** The wall clock is looked at this often at least: it may jump, and a machine may sleep. */
const LOOK_MS = 60 * 60 * 1000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 60 * 60 * 1000;
const SHORTEST_PAUSE_MS = 1_000;
/** What keeps it from being renewed is said again after this time. */
const SAY_EVERY_MS = 24 * 60 * 60 * 1000;
/** However near the end: a fleet whose server renews nothing must not storm it. */
const NO_SHORTER_THAN_MS = 60_000;

/** Renews the client certificate over this connection, as often as it is due, until the signal. The streams notice nothing. */
export async function keepRenewed(
  enrolment: Enrolment,
  connection: ClientConnection,
  over: AbortSignal,
): Promise<void> {
  const { clock, random, log } = enrolment.deps;
  let failures = 0;
  let said: { readonly reason: string; readonly at: number } | undefined;
  for (;;) {
    const pair = enrolment.held.pair();
    if (pair === undefined || over.aborted) return;
    const wait = pair.renewAt - clock.now();
    if (wait > 0) {
      await clock.sleep(Math.min(wait, LOOK_MS), over);
      continue;
    }
    const trouble = await renew(enrolment, connection).catch(
      (error: unknown): StreamEnd => ({ code: 'lost', reason: 'Internal', message: String(error) }),
    );
    if (trouble === undefined) {
      failures = 0;
      said = undefined;
      continue;
    }
    if (over.aborted) return;
    failures += 1;
    const retryInMs = pause(pair, clock.now(), failures) * (0.75 + random.next() / 4);
    const line = { reason: trouble.reason, detail: trouble.message, expires: new Date(pair.endsAt).toISOString() };
    const now = clock.now();
    if (said?.reason === trouble.reason && now - said.at < SAY_EVERY_MS) {
      log.debug('relay: the client certificate is still not renewed', line);
    } else {
      log.warn('relay: the client certificate could not be renewed', { ...line, retryInMs });
      said = { reason: trouble.reason, at: now };
    }
    await clock.sleep(retryInMs, over);
  }
}

/** Longer from failure to failure, and never so long that a short life ends meanwhile. */
function pause({ renewAt, endsAt }: HeldPair, now: number, failures: number): number {
  const shortest = Math.min(NO_SHORTER_THAN_MS, Math.max(SHORTEST_PAUSE_MS, (endsAt - renewAt) / 300));
  const doubling = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20));
  return Math.max(shortest, Math.min(doubling, (endsAt - now) / 8));
}

async function renew(enrolment: Enrolment, connection: ClientConnection): Promise<StreamEnd | undefined> {
  const { deps, options } = enrolment;
  const issued =
    enrolment.unsaved ?? (await register(deps.requests, options, connection, streamMetadata(options.cluster, '')));
  if ('code' in issued) return issued;
  const trouble = await saveIssued(enrolment, believedOnly(enrolment, connection, issued));
  if (trouble !== undefined) return trouble;
  const expires = enrolment.held.pair()?.endsAt;
  deps.log.info('relay: the client certificate was renewed', {
    ...(expires === undefined ? {} : { expires: new Date(expires).toISOString() }),
  });
  return undefined;
}
