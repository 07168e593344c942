import type { Digest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ObjectMeta, Origin } from '../../model/output.ts';

/** Why something is deliberately not changed: a constant word, and a sentence for people. */
export interface Hold {
  readonly reason: string;
  readonly message: string;
}

/** An object as a cluster should hold it. */
export interface ObjectDecision extends ObjectMeta {
  readonly type: 'object';
  readonly value: JsonObject;
  readonly digest: Digest;
}

/** What is there stays as it is. */
export interface KeepDecision extends ObjectMeta, Hold {
  readonly type: 'keep';
  readonly digest: Digest;
  /** As of the ledger entry. */
  readonly serves?: string;
}

/**
 * What to do with one key of one cluster, before the guards. `absent`: it is wanted but cannot be made, and nothing is
 * there. `remove`: proven gone from everything that it came from. `removing`: the agent is at it already. `left`: its
 * cluster is not registered any more; the object stays, and no count includes it.
 */
export type Decision =
  | ObjectDecision
  | KeepDecision
  | (Hold & { readonly type: 'absent'; readonly origins: readonly Origin[] })
  | (ObjectMeta & { readonly type: 'remove'; readonly digest: Digest })
  | (ObjectMeta & { readonly type: 'removing'; readonly digest: Digest })
  | (ObjectMeta & { readonly type: 'left'; readonly digest: Digest });
