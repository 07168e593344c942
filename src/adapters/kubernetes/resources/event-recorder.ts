import { objectRefOf } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import type { ResourceEvent, StatusTarget } from '../../../ports/resource-status.ts';
import { microTime } from '../api/micro-time.ts';
import { resourcePath } from '../api/paths.ts';
import type { KubeClient } from '../api/types.ts';

/** Says what happens to objects, as `kubectl describe` shows it. */
export interface EventRecorder {
  readonly record: (target: StatusTarget, event: ResourceEvent) => Promise<void>;
}

/** One event that was made, to be counted up if it comes again. */
interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  /** Monotonic milliseconds. */
  last: number;
}

/** What may still be said of one object. */
interface Allowance {
  tokens: number;
  /** Monotonic milliseconds. */
  filled: number;
}

const CONTROLLER = 'fleetrelay.dev/management-server';
const EVENTS = { group: 'events.k8s.io', version: 'v1', resource: 'events' };
/** The same said again within this time is counted up, as other recorders do. */
const SERIES_MS = 6 * 60_000;
const BURST = 20;
const REFILL_MS = 30_000;
const MAX_NOTE = 1024;

/** Creates the recorder: the same said again is a series, and of one object no more is said than a person can read. */
export function createEventRecorder(
  deps: { readonly client: KubeClient; readonly clock: Clock; readonly random: Random; readonly log: Log },
  { instance }: { readonly instance: string },
): EventRecorder {
  const { client, clock, log } = deps;
  const series = new Map<string, Series>();
  const allowances = new Map<string, Allowance>();

  const mayTell = (uid: string): boolean => {
    const now = clock.monotonic();
    const before = allowances.get(uid) ?? { tokens: BURST, filled: now };
    const tokens = Math.min(BURST, before.tokens + (now - before.filled) / REFILL_MS);
    allowances.set(uid, { tokens: Math.max(0, tokens - 1), filled: now });
    return tokens >= 1;
  };
  const forget = (): void => {
    const now = clock.monotonic();
    for (const [key, { last }] of series) if (now - last > SERIES_MS) series.delete(key);
    for (const [uid, { filled }] of allowances) if (now - filled > BURST * REFILL_MS) allowances.delete(uid);
  };

  return {
    record: async (target, event) => {
      forget();
      if (!mayTell(target.uid)) {
        log.debug('an event is left out: there were many', { object: target.key, reason: event.reason });
        return;
      }
      const key = [target.uid, event.type, event.reason, event.message].join('\u0000');
      const before = series.get(key);
      if (before !== undefined && (await countUp(deps, before))) return;
      const { namespace, name } = namesOf(target, deps.random);
      const answer = await client.request({
        method: 'POST',
        path: resourcePath({ resource: EVENTS, namespace }),
        body: eventOf(target, event, { namespace, name, instance, now: clock.now() }),
      });
      if (answer.type === 'ok') series.set(key, { name, namespace, count: 1, last: clock.monotonic() });
      else log.debug('an event could not be written', { object: target.key, answer: answer.type });
    },
  };
}

/** False: there is no such event any more. */
async function countUp(
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  series: Series,
): Promise<boolean> {
  series.count += 1;
  series.last = clock.monotonic();
  const answer = await client.request({
    method: 'PATCH',
    path: resourcePath({ resource: EVENTS, namespace: series.namespace, name: series.name }),
    contentType: 'application/merge-patch+json',
    body: { series: { count: series.count, lastObservedTime: microTime(clock.now()) } },
  });
  return answer.type === 'ok';
}

function namesOf({ key }: StatusTarget, random: Random): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = objectRefOf(key);
  return {
    namespace: namespace === '' ? 'default' : namespace,
    name: `${name.slice(0, 220)}.${random.id().slice(0, 16)}`,
  };
}

function eventOf(
  { key, uid, apiVersion }: StatusTarget,
  { type, reason, message }: ResourceEvent,
  made: { readonly namespace: string; readonly name: string; readonly instance: string; readonly now: number },
) {
  const { kind, namespace, name } = objectRefOf(key);
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: made.name, namespace: made.namespace },
    eventTime: microTime(made.now),
    reportingController: CONTROLLER,
    reportingInstance: made.instance.slice(0, 128),
    action: reason,
    reason,
    type,
    note: message.length > MAX_NOTE ? `${message.slice(0, MAX_NOTE - 3)}...` : message,
    regarding: { apiVersion, kind, name, uid, ...(namespace === '' ? {} : { namespace }) },
  };
}
