import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { resourcePath } from './paths.ts';
import { isExpired } from './refusals.ts';
import type { KubeClient, KubeRefusal, ReflectorListener, ReflectorOptions } from './types.ts';

/** What listing and watching a kind share. */
export interface Reflecting {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly options: ReflectorOptions;
  /** Guarded: never throws. */
  readonly listener: ReflectorListener;
  readonly signal: AbortSignal;
}

/** Why a list or a watch did not go on. */
export interface Trouble {
  /**
   * `refused`: the server says that this kind is not to be had (unknown, forbidden, cannot be watched).
   * `expired`: the position is no longer kept, or not known yet. `lost`: anything that may pass by itself.
   */
  readonly type: 'refused' | 'expired' | 'lost';
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly tooLarge?: true;
}

/** Path and selectors of the followed objects. */
export function followed({ resource, namespace, labelSelector, fieldSelector }: ReflectorOptions): {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
} {
  return {
    path: resourcePath({ resource, ...(namespace === undefined ? {} : { namespace }) }),
    query: {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    },
  };
}

/** What a refusal means for the kind. */
export function troubleOf(status: number, refusal: KubeRefusal): Trouble {
  const { message, retryAfterMs } = refusal;
  const passing = status >= 500 || [401, 408, 409, 429].includes(status);
  const future = refusal.causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
  const type = isExpired(status, refusal) || future ? 'expired' : passing ? 'lost' : 'refused';
  return { type, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Anything that may pass by itself. */
export function lost(message: string): Trouble {
  return { type: 'lost', message };
}

/** A listener whose throws are logged and spoil nothing. */
export function guardListener(listener: ReflectorListener, log: Log): ReflectorListener {
  function guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      log.error('a listener of a watch failed', { error });
    }
  }
  return {
    listing: () => guard(() => listener.listing()),
    upsert: (object) => guard(() => listener.upsert(object)),
    listed: (resourceVersion) => guard(() => listener.listed(resourceVersion)),
    removed: (object) => guard(() => listener.removed(object)),
    listFailed: () => guard(() => listener.listFailed()),
    state: (state, message) => guard(() => listener.state(state, message)),
  };
}
