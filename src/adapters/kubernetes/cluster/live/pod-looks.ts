import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import type { FollowerDeps } from '../../api/types.ts';
import { listPodEvents, type SeenEvents } from './pod-events.ts';

/** A namespace whose events may not be listed is asked again after that time. */
const FORBIDDEN_MS = 3_600_000;
/** The most namespaces that are looked at at the same time. */
const MOST_LOOKS = 4;

/** Looks at the events of namespaces, a few at a time. `seen` is called with the Pods for which a namespace was looked at. */
export function createPodLooks(
  { client, clock, log }: Pick<FollowerDeps, 'client' | 'clock' | 'log'>,
  seen: (keys: ReadonlySet<ObjectKey>, events: SeenEvents) => void,
) {
  /** The Pods for which a namespace is being looked at, or is to be. */
  const waiting = new Map<string, Set<ObjectKey>>();
  const queue: string[] = [];
  let running = 0;
  /** Until when a namespace is not asked, in milliseconds since 1970. */
  const forbidden = new Map<string, number>();
  const closing = new AbortController();
  return { look, close: (): void => closing.abort() };

  /** Looks at the namespace of this Pod. */
  function look(key: ObjectKey): void {
    const { namespace } = objectRefOf(key);
    const keys = waiting.get(namespace);
    if (keys !== undefined) {
      keys.add(key);
      return;
    }
    waiting.set(namespace, new Set([key]));
    queue.push(namespace);
    lookOn();
  }

  function lookOn(): void {
    while (running < MOST_LOOKS && !closing.signal.aborted) {
      const namespace = queue.shift();
      if (namespace === undefined) return;
      running += 1;
      void lookAt(namespace).finally(() => {
        running -= 1;
        lookOn();
      });
    }
  }

  async function lookAt(namespace: string): Promise<void> {
    const events = await eventsOf(namespace);
    const keys = waiting.get(namespace);
    waiting.delete(namespace);
    if (keys !== undefined && !closing.signal.aborted) seen(keys, events);
  }

  async function eventsOf(namespace: string): Promise<SeenEvents> {
    if ((forbidden.get(namespace) ?? 0) > clock.now()) return 'forbidden';
    const events = await listPodEvents(client, namespace, closing.signal);
    if (events === 'forbidden') forbidden.set(namespace, clock.now() + FORBIDDEN_MS);
    else forbidden.delete(namespace);
    if (typeof events === 'string') log.debug('events of unschedulable pods cannot be listed', { namespace, events });
    return events;
  }
}
