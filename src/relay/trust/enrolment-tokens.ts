import { createHmac, timingSafeEqual } from 'node:crypto';
import { given } from '../../model/values/given.ts';
import { MIN_SECRET_BYTES } from './tokens.ts';

/** Milliseconds for which an agent that has used a single-use token gets the same answer again. */
export const SAME_ANSWER_MS = 10 * 60 * 1000;

/** Generation, expiry in seconds since 1970, the id of a single-use token or nothing, and the proof of it all. */
const FORM = /^fre1_(0|[1-9]\d{0,14})_([1-9]\d{0,14})_([0-9a-f]{32})?_[A-Za-z0-9_-]{43}$/;

/** What an enrolment token states. */
export interface EnrolmentToken {
  /** The generation of its cluster's tokens: a renewal makes earlier generations invalid. */
  readonly generation: number;
  /** Whole seconds since 1970. */
  readonly expiresAt: number;
  /** 32 hex digits; absent: any number of requests may use the token until it expires. */
  readonly singleUseId?: string;
}

/** Makes an enrolment token: a cluster's agent gets a client certificate for it. It opens no stream. */
export function enrolmentToken(secret: Uint8Array, cluster: string, stated: EnrolmentToken): string {
  if (secret.length < MIN_SECRET_BYTES) throw new Error(`a relay secret needs at least ${MIN_SECRET_BYTES} bytes`);
  const { generation, expiresAt, singleUseId = '' } = stated;
  const text = `${generation}_${expiresAt}_${singleUseId}`;
  const proof = createHmac('sha256', secret).update(`enrolment\u0000${cluster}\u0000${text}`).digest('base64url');
  return `fre1_${text}_${proof}`;
}

/**
 * What an enrolment token of this cluster states and proves under any of the secrets; undefined: it is wrong. Takes the same time
 * for every wrong token of the right form.
 */
export function readEnrolmentToken(
  secrets: readonly Uint8Array[],
  cluster: string,
  token: string,
): EnrolmentToken | undefined {
  const [, generation, expiresAt, singleUseId] = FORM.exec(token) ?? [];
  if (generation === undefined) return undefined;
  const stated = { generation: Number(generation), expiresAt: Number(expiresAt), ...given({ singleUseId }) };
  let isRight = false;
  for (const secret of secrets) {
    const expected = Buffer.from(enrolmentToken(secret, cluster, stated));
    const shown = Buffer.from(token);
    isRight = (expected.length === shown.length && timingSafeEqual(expected, shown)) || isRight;
  }
  return isRight ? stated : undefined;
}
