import { errorText } from '../model/text/messages.ts';
import type { Log } from '../ports/log.ts';

/** Passes events to listeners. `Events` has the payload of each event by its name; undefined: the event has none. */
export interface Bus<Events> {
  /** Calls the listener at each event of this name, after the listeners that were added before. Returns what ends that. */
  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void;
  /** Calls the listeners one after the other. An error of one of them is logged, and the next one is called. */
  emit<Name extends keyof Events>(name: Name, ...payload: Events[Name] extends undefined ? [] : [Events[Name]]): void;
}

export function createBus<Events>({ log }: { readonly log: Pick<Log, 'error'> }): Bus<Events> {
  const all = new Map<keyof Events, Set<(payload: never) => void>>();
  return {
    on: (name, listener) => {
      // A listener that is added twice is called twice.
      const own = (payload: never): void => listener(payload);
      const listeners = all.get(name) ?? new Set();
      all.set(name, listeners.add(own));
      return () => void listeners.delete(own);
    },
    emit: (name, ...[payload]) => {
      for (const listener of [...(all.get(name) ?? [])]) {
        try {
          listener(payload as never);
        } catch (error) {
          log.error('a listener failed', { event: String(name), error: errorText(error) });
        }
      }
    },
  };
}
