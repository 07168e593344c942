import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { StreamMetadata } from '../../ports/transport.ts';
import {
  openJoinedRecord,
  type PrivateFile,
  type RecordDeps,
  type RecordKind,
  readRecordFile,
  type Values,
} from './joined-record.ts';

/** A token that was never renewed, and a renewed one, which states its generation. */
const FIRST_PREFIX = 'frt1_';
const RENEWED_PREFIX = 'frt2_';
const RENEWED = /^frt2_([1-9]\d{0,14})_/;
/** The part of a token that states its subject. */
const STATED = /^frt(?:1|2_[1-9]\d{0,14})_([A-Za-z0-9_-]+)_[A-Za-z0-9_-]{43}$/;
/** A shorter secret could be guessed. */
export const MIN_SECRET_BYTES = 32;

/**
 * The connection token of a subject, derived from the relay secret: no secret is stored per subject, and a token reveals nothing
 * about another one. It opens streams until it is renewed, and enrols no agent (`enrolment-tokens.ts`). Throws if the secret is
 * shorter than 32 bytes.
 *
 * @param subject who shows the token: the name of a cluster, or a text with a slash, which no cluster has as its name. The token
 * of such a subject states it, so that it is checked before the caller has said who it is.
 * @param generation 0: never renewed; see {@link TokenGenerations}
 */
export function connectionToken(secret: Uint8Array, subject: string, generation = 0): string {
  if (secret.length < MIN_SECRET_BYTES) throw new Error(`a relay secret needs at least ${MIN_SECRET_BYTES} bytes`);
  const derive = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
  const stated = subject.includes('/') ? `${Buffer.from(subject).toString('base64url')}_` : '';
  if (generation === 0) return `${FIRST_PREFIX}${stated}${derive(`token\u0000${subject}`)}`;
  return `${RENEWED_PREFIX}${generation}_${stated}${derive(`token\u0000${subject}\u0000${generation}`)}`;
}

/** The subject that a token states, which proves nothing yet; undefined: it states none, like the token of a cluster. */
export function statedSubject(token: string): string | undefined {
  const stated = STATED.exec(token)?.[1];
  return stated === undefined ? undefined : Buffer.from(stated, 'base64url').toString();
}

/**
 * The generation that a token of this subject states and proves, under any of the secrets; undefined: the token is wrong.
 * Takes the same time for every wrong token: it tries all secrets, and compares digests of equal length in constant time.
 */
export function tokenGeneration(secrets: readonly Uint8Array[], subject: string, token: string): number | undefined {
  const generation = Number(RENEWED.exec(token)?.[1] ?? 0);
  let right = false;
  for (const secret of secrets) {
    const expected = hashed(secret, connectionToken(secret, subject, generation));
    right = timingSafeEqual(expected, hashed(secret, token)) || right;
  }
  return right ? generation : undefined;
}

/** Whether a token is the shared token of all clusters. In constant time for any lengths. */
export function isSharedToken(shared: string, token: string): boolean {
  const key = randomBytes(MIN_SECRET_BYTES);
  return timingSafeEqual(hashed(key, shared), hashed(key, token));
}

function hashed(secret: Uint8Array, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

/** The token in the metadata of a call; undefined: there is none; empty: it is malformed. */
export function bearerToken({ authorization }: StreamMetadata): string | undefined {
  if (authorization === undefined) return undefined;
  return /^Bearer ([\x21-\x7e]{1,512})$/.exec(authorization)?.[1] ?? '';
}

/** Metadata of a call: the cluster, and the token unless it is empty. */
export function streamMetadata(cluster: string, token: string): StreamMetadata {
  const shown = token.trim();
  return { 'fleetrelay-cluster': cluster, ...(shown === '' ? {} : { authorization: `Bearer ${shown}` }) };
}

/** What a token is good for: opening streams, or enrolling for a client certificate. */
export type TokenUse = 'connection' | 'enrolment';

/** The command that prints a new token of a cluster. `more`: flags beside `--relay-secret-file FILE`. */
export function tokenCommand(cluster: string, use: TokenUse, more = ''): string {
  const flag = use === 'connection' ? ' --connection' : '';
  return `fleetrelay cluster token ${cluster}${flag} --data-dir DIR (or --relay-secret-file FILE${more})`;
}

/**
 * The current generation of the tokens of each subject: earlier tokens are refused. A generation is the second (since 1970)
 * of its renewal, or the previous generation plus one if that is later. So a renewal is later than all earlier ones, even
 * than those that were forgotten. 0: never renewed.
 */
export interface TokenGenerations {
  current(subject: string): number;
  /**
   * Begins a new generation, which makes all tokens of the subject invalid. Resolves with it when it is durable and shared
   * with the reachable replicas. Rejects with a text for people; then nothing has changed.
   */
  renew(subject: string): Promise<number>;
  /** Takes the generation of a valid token. A later generation than the known one was forgotten, and becomes the current one. */
  shown(subject: string, generation: number): void;
  /** Calls `changed` with each subject whose generation has changed, until the returned function is called. */
  watch(changed: (subject: string) => void): () => void;
}

/** Name of the file with the generations in the trust folder of a server. */
export const GENERATIONS_FILE = 'token-generations.json';

/** Where replicas share the generations in the store. */
export const GENERATIONS_KEY = 'trust/tokens';

const generations: RecordKind<number> = {
  storeKey: GENERATIONS_KEY,
  what: 'the generations of tokens',
  repair: 'restore it, or remove it and renew again every token that was renewed (earlier ones count until then)',
  read: (json) => (Number.isSafeInteger(json) && Number(json) > 0 ? Number(json) : undefined),
  join: Math.max,
};

/** Generations that follow the store until they are stopped. */
export interface OpenedTokenGenerations extends TokenGenerations {
  /** Resolves after the current write, also of the file. */
  stop(): Promise<void>;
}

/** Opens the generations. Rejects with a text for people if they cannot be read: an earlier token must not become valid again. */
export async function openTokenGenerations(deps: RecordDeps): Promise<OpenedTokenGenerations> {
  const { clock, log } = deps;
  const record = await openJoinedRecord(deps, generations);
  const current = (subject: string): number => record.get(subject) ?? 0;
  return {
    current,
    renew: async (subject) => {
      let generation = 0;
      await record.add(() => {
        generation = Math.max(current(subject) + 1, Math.floor(clock.now() / 1000));
        return new Map([[subject, generation]]);
      });
      return generation;
    },
    shown(subject, generation) {
      if (generation <= current(subject)) return;
      const message = 'relay: a token of an unknown renewal was shown: earlier tokens of its subject are refused now';
      log.warn(message, { subject, generation });
      record.learn(new Map([[subject, generation]]));
    },
    watch: record.watch,
    stop: record.stop,
  };
}

/** The generations in a file. Rejects with a text for people if the file is damaged. */
export function readTokenGenerations(file: Omit<PrivateFile, 'write'>): Promise<Values<number>> {
  return readRecordFile(file, generations);
}
