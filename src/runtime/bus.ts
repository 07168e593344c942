import { errorText } from '../model/text/messages.ts';
import type { Log } from '../ports/log.ts';

/** Passes events to listeners. `Events` has the payload of each event by its name; undefined: the event has none. */
export interface Bus<Events> {
  /** Calls the listener at each event of this name, after the listeners that were added before. */
  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): void;
  /** Calls the listeners one after the other. An error of one of them is logged, and the next one is called. */
  emit<Name extends keyof Events>(name: Name, ...payload: Events[Name] extends undefined ? [] : [Events[Name]]): void;
}

export function createBus<Events>({ log }: { readonly log: Pick<Log, 'error'> }): Bus<Events> {
  const all = new Map<keyof Events, readonly ((payload: never) => void)[]>();
  return {
    // A new list: an event that is under way goes on with the old one.
    on: (name, listener) => void all.set(name, [...(all.get(name) ?? []), listener]),
    emit: (name, ...[payload]) => {
      for (const listener of all.get(name) ?? []) {
        try {
          listener(payload as never);
        } catch (error) {
          log.error('a listener failed', { event: String(name), error: errorText(error) });
        }
      }
    },
  };
}
