import type { FleetName } from '../../model/ids.ts';
import type { ClientConnection, StreamEnd } from '../../ports/transport.ts';
import { badSettings, type ClientTrust, streamMetadata, type TrustedConnection } from './client-trust.ts';
import {
  believedOnly,
  type Enrolment,
  type EnrolmentDeps,
  type EnrolmentOptions,
  isBelieved,
  saveIssued,
} from './enrolment-state.ts';
import { createHeldCredentials, type HeldPair } from './held-credentials.ts';
import { tokenCommand } from './known-token.ts';
import { issuedFor, register, unfitness } from './register.ts';
import { keepRenewed } from './renewal.ts';

/**
 * With nothing better to go by, a pair that was refused or has run out is shown at every so many attempts: the server may
 * have found its authority again, or the clock may be wrong.
 */
const SHOW_DOUBTED_EVERY = 8;

/** A client certificate that the server issues for a token, and renews. */
export function createEnrolment(deps: EnrolmentDeps, options: EnrolmentOptions): ClientTrust {
  const enrolment: Enrolment = {
    deps,
    options,
    held: createHeldCredentials(deps),
    doubted: false,
    tokenOnly: false,
    failures: 0,
    unsaved: undefined,
  };
  const { held } = enrolment;
  return {
    open: (fleet, stopping) => open(enrolment, fleet, stopping).catch(badSettings),
    keep(opened, over) {
      if (opened.shown !== undefined) void keepRenewed(enrolment, opened.connection, over);
    },
    takeRoots: ({ connection }, roots) => void takeRoots(enrolment, connection, roots),
    ended({ shown }, { code }) {
      if (code !== 'unauthenticated') return;
      // A newer one, which was not shown yet, is not what was refused.
      if (shown !== undefined && held.pair()?.certificate === shown) enrolment.doubted = true;
      enrolment.tokenOnly = false;
    },
    expiresAt: () => held.pair()?.endsAt,
    settled: held.settled,
  };
}

async function open(
  enrolment: Enrolment,
  fleet: FleetName | undefined,
  stopping: AbortSignal,
): Promise<TrustedConnection | StreamEnd> {
  const { deps, options, held, doubted } = enrolment;
  const refused = doubted ? held.pair()?.certificate : undefined;
  const loaded = await held.load(doubted);
  if (!loaded.ok) {
    return { code: 'lost', reason: 'CredentialsUnreadable', message: `${deps.store.place}: ${loaded.problem}` };
  }
  // Another replica may have renewed it.
  if (doubted && held.pair()?.certificate !== refused) enrolment.doubted = false;
  if (enrolment.unsaved !== undefined) {
    const trouble = await saveIssued(enrolment, enrolment.unsaved);
    if (trouble !== undefined) return trouble;
  }
  if (enrolment.tokenOnly) return withToken(enrolment, dialBare(enrolment), options.token());
  const pair = held.pair();
  if (pair === undefined || isOthers(enrolment, pair, fleet)) return enrol(enrolment, stopping);
  const due = enrolment.doubted || deps.clock.now() >= pair.endsAt;
  const anyhow = enrolment.failures % SHOW_DOUBTED_EVERY === SHOW_DOUBTED_EVERY - 1;
  if (!due) return show(enrolment, pair);
  if (!anyhow) return enrol(enrolment, stopping);
  enrolment.failures += 1;
  return show(enrolment, pair);
}

/** Is the pair of no use here, whatever the server says? */
function isOthers({ options }: Enrolment, { facts, own }: HeldPair, fleet: FleetName | undefined): boolean {
  if (unfitness(facts, options.cluster, options.clusterId) !== undefined) return true;
  return !own && fleet !== undefined && issuedFor(facts.uris)?.fleet !== fleet;
}

function show({ deps, options, held }: Enrolment, { key, certificate }: HeldPair): TrustedConnection {
  const connection = deps.transport.dial({ identity: { key, certificate }, roots: held.roots() });
  return { connection, metadata: streamMetadata(options.cluster, ''), shown: certificate };
}

function dialBare({ deps, held }: Enrolment): ClientConnection {
  return deps.transport.dial({ roots: held.roots() });
}

function withToken({ options }: Enrolment, connection: ClientConnection, token: string): TrustedConnection {
  return { connection, metadata: streamMetadata(options.cluster, token) };
}

async function enrol(enrolment: Enrolment, stopping: AbortSignal): Promise<TrustedConnection | StreamEnd> {
  const { deps, options, held } = enrolment;
  // Counted first: whatever goes wrong here, now and then the pair that is there is tried instead.
  enrolment.failures += 1;
  const token = options.token().trim();
  const connection = dialBare(enrolment);
  stopping.addEventListener('abort', connection.close);
  const issued = await register(deps.requests, options, connection, streamMetadata(options.cluster, token)).finally(
    () => stopping.removeEventListener('abort', connection.close),
  );
  if ('code' in issued && issued.reason === 'NotOffered') {
    enrolment.tokenOnly = true;
    enrolment.failures = 0;
    // A server that issues none looks at none: it has judged nobody's.
    enrolment.doubted = false;
    deps.log.info('relay: the server issues no client certificates: the token is shown on every stream');
    return withToken(enrolment, connection, token);
  }
  if ('code' in issued) {
    connection.close();
    return explained(enrolment, issued);
  }
  const trouble = await saveIssued(enrolment, believedOnly(enrolment, connection, issued));
  connection.close();
  const pair = held.pair();
  if (trouble !== undefined || pair === undefined) return trouble ?? badSettings(undefined);
  deps.log.info('relay: enrolled', { place: deps.store.place, expires: new Date(pair.endsAt).toISOString() });
  return show(enrolment, pair);
}

async function takeRoots(enrolment: Enrolment, connection: ClientConnection, roots: string): Promise<void> {
  const { deps, held } = enrolment;
  if (roots.trim() === '' || roots === held.roots()) return;
  if (!isBelieved(enrolment, connection, roots)) {
    deps.log.warn(
      'relay: the server has named roots that do not lead to the certificate that it has shown: they are not taken',
    );
    return;
  }
  const saved = await held.save((before) => ({ ...before, roots }));
  if (saved.ok) deps.log.info('relay: the server has named the roots that its certificate may be signed by');
  else deps.log.warn('relay: the roots cannot be saved', { place: deps.store.place, detail: saved.problem });
}

/** Says beside the refusal why the agent had to enrol at all. */
function explained({ doubted, held, options }: Enrolment, end: StreamEnd): StreamEnd {
  const { cluster } = options;
  const why = doubted
    ? 'the server does not take its certificate any more'
    : held.pair() === undefined
      ? 'it has no certificate yet'
      : 'its certificate has run out';
  const what = `the agent has to enrol, because ${why}, and the server says: ${end.message}`;
  const advice =
    end.reason === 'TokenRenewed' ? '' : `; print its token where the server runs: ${tokenCommand(cluster)}`;
  return end.code === 'unauthenticated' ? { ...end, message: `${what}${advice}` } : end;
}
