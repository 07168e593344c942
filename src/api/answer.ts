import type { Receipt } from '../model/fleet/receipt.ts';

/**
 * An answer, or the reason for an error: `notFound` (404), `conflict` (409), `invalid` (400), `unavailable` (503), `unrecorded` (503: an act may
 * or may not be in force, now or after a restart), `notLeader` (409; `leader`: address of the leader's API, null: not known).
 */
export type Answer<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      readonly kind: 'notFound' | 'conflict' | 'invalid' | 'unavailable' | 'unrecorded';
      readonly message: string;
    }
  | { readonly ok: false; readonly kind: 'notLeader'; readonly message: string; readonly leader: string | null };

/** The reason for an error. */
export type Refusal = Extract<Answer<never>, { readonly ok: false }>;

/** What an act has changed, or why it has changed nothing. Its caller is answered when the receipt says that it is durable (`acts.ts`). */
export type Act<Value> = { readonly ok: true; readonly value: Value; readonly receipt: Receipt } | Refusal;
