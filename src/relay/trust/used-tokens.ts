import type { Clock } from '../../ports/clock.ts';
import { SAME_ANSWER_MS } from './enrolment-tokens.ts';
import { openJoinedRecord, type RecordDeps, type RecordKind } from './joined-record.ts';

/** Name of the file with the used tokens in the trust folder of a server. */
export const USED_TOKENS_FILE = 'used-tokens.json';

/** The use of a single-use token. Times are milliseconds since 1970. */
interface Use {
  /** sha256 of the key that the certificate is for, in hex. */
  readonly key: string;
  readonly at: number;
  /** When the token expires: the record is not needed any more. */
  readonly until: number;
  /** PEM; empty: it was not issued yet. */
  readonly certificate: string;
}

const uses: RecordKind<Use> = {
  storeKey: 'trust/used-tokens',
  what: 'the used single-use tokens',
  repair:
    'restore it, or remove it and renew the tokens of clusters whose single-use tokens were used in the last days',
  read: readUse,
  // If two replicas were asked at once, the earlier one counts at both.
  join: (one, other) => {
    if (one.key === other.key && one.at === other.at) return one.certificate === '' ? other : one;
    return one.at < other.at || (one.at === other.at && one.key < other.key) ? one : other;
  },
  isOver: ({ until }, now) => until <= now,
};

function readUse(json: unknown): Use | undefined {
  const { key, at, until, certificate } = Object(json) as Partial<Record<keyof Use, unknown>>;
  if (typeof key !== 'string' || typeof certificate !== 'string') return undefined;
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(until)) return undefined;
  return { key, at: Number(at), until: Number(until), certificate };
}

/** Which single-use tokens were used, and by which keys. */
export interface UsedTokens {
  /**
   * Uses a token for a key, for good. `answered`: the same key has used it within ten minutes, and gets the same certificate.
   * `used`: it was used already. Rejects with a text for people if that cannot be recorded.
   */
  use(
    id: string,
    key: string,
    until: number,
  ): Promise<{ readonly type: 'first' | 'used' } | { readonly type: 'answered'; readonly certificate: string }>;
  /** Records the certificate that was issued for a used token. */
  issued(id: string, certificate: string): Promise<void>;
}

/** Used tokens that follow the store until they are stopped. */
export interface OpenedUsedTokens extends UsedTokens {
  stop(): Promise<void>;
}

/** Opens the record of used tokens. Rejects with a text for people if it cannot be read. */
export async function openUsedTokens(deps: RecordDeps & { readonly clock: Clock }): Promise<OpenedUsedTokens> {
  const record = await openJoinedRecord(deps, uses);
  return {
    async use(id, key, until) {
      const now = deps.clock.now();
      const before = record.get(id);
      const use = { key, at: now, until, certificate: '' };
      if (before === undefined) await record.add(() => new Map([[id, use]]));
      const counts = record.get(id);
      if (counts?.key !== key || now - counts.at > SAME_ANSWER_MS) return { type: 'used' };
      return counts.certificate === '' ? { type: 'first' } : { type: 'answered', certificate: counts.certificate };
    },
    issued: (id, certificate) =>
      record.add(() => {
        const use = record.get(id);
        return new Map(use === undefined ? [] : [[id, { ...use, certificate }]]);
      }),
    stop: record.stop,
  };
}
