import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { UNKNOWN_AFTER_MS } from './limits.ts';
import type { Trouble } from './reflecting.ts';
import type { ReflectorListener } from './types.ts';

/** Whether a kind is known, told to the listener when it changes. */
export interface KindState {
  /** A whole list has been told, and the server sends what changes. */
  complete(): void;
  /** A list or a watch went wrong; false: the kind is unknown now, and only a whole list makes it known again. */
  trouble(trouble: Trouble): boolean;
}

/** Creates the state: neither complete nor unknown until something has happened. */
export function createKindState(clock: Clock, log: Log, listener: ReflectorListener): KindState {
  let told: { readonly state: 'complete' | 'unknown'; readonly message: string } | undefined;
  let troubledSince: number | undefined;

  function tell(state: 'complete' | 'unknown', message: string): void {
    if (told?.state === state && told.message === message) return;
    if (state === 'unknown') log.warn('a kind cannot be followed', { message });
    else if (told !== undefined) log.info('a kind can be followed again');
    told = { state, message };
    listener.state(state, message);
  }

  return {
    complete() {
      troubledSince = undefined;
      tell('complete', '');
    },
    trouble({ type, message }) {
      log.debug('a list or watch broke off', { message });
      troubledSince ??= clock.monotonic();
      const lasting = clock.monotonic() - troubledSince >= UNKNOWN_AFTER_MS;
      if (told?.state === 'complete' && type !== 'refused' && !lasting) return true;
      tell('unknown', message);
      return false;
    },
  };
}
