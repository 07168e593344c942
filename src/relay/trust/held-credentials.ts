import { createTurns } from '../../model/in-turn.ts';
import { errorText } from '../../model/messages.ts';
import { ok, problem, type Result } from '../../model/result.ts';
import type { CertificateFacts, CertificateRequests } from '../../ports/certificate-requests.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AgentCredentials, CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';

/** A key with its certificate, and its times by this machine's wall clock. */
export interface HeldPair {
  readonly key: string;
  readonly certificate: string;
  readonly facts: CertificateFacts;
  readonly renewAt: number;
  readonly endsAt: number;
  /** It was issued to this process. */
  readonly own: boolean;
}

/** What the store holds, as this process knows it. */
export interface HeldCredentials {
  /** Asks the store, once; or once more, if `again`. What this process knew stays if it cannot be asked. */
  load(again?: boolean): Promise<Result<void>>;
  pair(): HeldPair | undefined;
  roots(): string;
  /**
   * Saves a step from what is held, after every step before it. Only what was saved is held: on a problem it is what it
   * was, or what another process has saved instead.
   */
  save(step: (before: AgentCredentials) => AgentCredentials): Promise<Result<void>>;
  settled(): Promise<void>;
}

interface HeldDeps {
  readonly store: CredentialStore;
  readonly requests: CertificateRequests;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const NONE: AgentCredentials = { key: '', certificate: '', roots: '' };
/** Renewed when this part of the time is over, or up to a twentieth of that earlier: a fleet does not come in step. */
const RENEW_AFTER = 2 / 3;
const SPREAD = 1 / 20;

/** Credentials in a store. */
export function createHeldCredentials(deps: HeldDeps): HeldCredentials {
  const { store } = deps;
  let held: AgentCredentials = NONE;
  let pair: HeldPair | undefined;
  let loaded = false;
  const inTurn = createTurns();

  return {
    pair: () => pair,
    roots: () => held.roots,
    load: (again = false) => inTurn(() => (loaded && !again ? Promise.resolve(ok(undefined)) : load())),
    save: (step) => inTurn(() => save(step)),
    settled: () => inTurn(async () => undefined),
  };

  async function load(): Promise<Result<void>> {
    try {
      hold((await store.load()) ?? NONE, false);
      loaded = true;
      return ok(undefined);
    } catch (error) {
      return loaded ? ok(undefined) : problem(errorText(error));
    }
  }

  async function save(step: (before: AgentCredentials) => AgentCredentials): Promise<Result<void>> {
    const next = step(held);
    if (isSame(next, held)) return ok(undefined);
    try {
      await store.save(next);
      hold(next, true);
      return ok(undefined);
    } catch (error) {
      await load();
      return problem(errorText(error));
    }
  }

  function hold(credentials: AgentCredentials, own: boolean): void {
    held = credentials;
    if (pair?.key === credentials.key && pair.certificate === credentials.certificate) return;
    pair = pairOf(deps, credentials, own);
  }
}

function isSame(a: AgentCredentials, b: AgentCredentials): boolean {
  return a.key === b.key && a.certificate === b.certificate && a.roots === b.roots;
}

function pairOf(
  { store, requests, clock, random, log }: HeldDeps,
  { key, certificate }: AgentCredentials,
  own: boolean,
): HeldPair | undefined {
  if (certificate === '') return undefined;
  const facts = requests.inspect({ key, certificate });
  if (!facts.ok) {
    log.warn('relay: the stored client certificate cannot be used', { place: store.place, detail: facts.problem });
    return undefined;
  }
  const { notBefore, notAfter } = facts.value;
  const now = clock.now();
  // What was issued a moment ago is valid: if this clock says otherwise, the clocks differ, and the length counts.
  const differ = own && (now < notBefore || now >= notAfter);
  const endsAt = differ ? now + (notAfter - notBefore) : notAfter;
  const from = own ? now : notBefore;
  const renewAt = from + (endsAt - from) * RENEW_AFTER * (1 - SPREAD * random.next());
  return { key, certificate, facts: facts.value, renewAt, endsAt, own };
}
