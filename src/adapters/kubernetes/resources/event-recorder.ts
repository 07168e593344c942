import { createRateLimit, type Rate } from '../../../model/limits/rate-limit.ts';
import { objectRefOf } from '../../../model/objects/object-key.ts';
import type { Random } from '../../../ports/random.ts';
import type { ResourceEvent, StatusTarget } from '../../../ports/resource-status.ts';
import { microTime } from '../api/micro-time.ts';
import { resourcePath } from '../api/paths.ts';
import type { FollowerDeps } from '../api/types.ts';

/** An event that was written, to be counted up when it is repeated. */
interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  /** Monotonic milliseconds. */
  last: number;
}

/** A token bucket: the events that may still be written for one object. */
interface Allowance {
  readonly tokens: number;
  /** Monotonic milliseconds. */
  readonly filledAt: number;
}

const SERVER = 'fleetrelay.dev/management-server';
const EVENTS = { group: 'events.k8s.io', version: 'v1', resource: 'events' };
/** A repetition within this time is counted up, as client-go does. */
const SERIES_MS = 6 * 60_000;
const BURST = 20;
const REFILL_MS = 30_000;
/** What is too old to matter is looked for this often. */
const FORGET_MS = 60_000;
const MAX_NOTE = 1024;

interface RecorderOptions {
  readonly instance: string;
  readonly controller?: string;
  readonly rate?: Rate;
}

/**
 * Writes events of objects, as `kubectl describe` shows them. A repeated event is counted up. Each object has a limited rate
 * of events; others are dropped. `instance`: name of this process. `controller`: of which program it is one. `rate`: of the
 * events of all objects together; undefined: they have no limit.
 */
export function createEventRecorder(deps: FollowerDeps, { instance, controller = SERVER, rate }: RecorderOptions) {
  const { client, clock, log, random } = deps;
  const written = new Map<string, Series>();
  const allowances = new Map<string, Allowance>();
  const limit = rate === undefined ? () => 0 : createRateLimit(clock.monotonic, rate);
  let forgotAt = clock.monotonic();
  return { record };

  /** A failed write is logged. Never rejects. */
  async function record(target: StatusTarget, event: ResourceEvent): Promise<void> {
    if (limit('') > 0) return;
    forgetOld();
    if (!takeToken(target.uid)) {
      log.debug('an event is left out: there were many', { object: target.key, reason: event.reason });
      return;
    }
    const key = [target.uid, event.type, event.reason, event.message].join('\u0000');
    const before = written.get(key);
    if (before !== undefined && (await countUp(before))) return;
    const { namespace, name } = namesOf(target, random);
    const answer = await client.request({
      method: 'POST',
      path: resourcePath({ resource: EVENTS, namespace }),
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace },
        eventTime: microTime(clock.now()),
        reportingController: controller,
        reportingInstance: instance.slice(0, 128),
        ...contentOf(target, event),
      },
    });
    if (answer.type === 'ok') written.set(key, { name, namespace, count: 1, last: clock.monotonic() });
    else log.debug('an event could not be written', { object: target.key, answer: answer.type });
  }

  function takeToken(uid: string): boolean {
    const filledAt = clock.monotonic();
    const before = allowances.get(uid) ?? { tokens: BURST, filledAt };
    const tokens = Math.min(BURST, before.tokens + (filledAt - before.filledAt) / REFILL_MS);
    allowances.set(uid, { tokens: Math.max(0, tokens - 1), filledAt });
    return tokens >= 1;
  }

  function forgetOld(): void {
    const now = clock.monotonic();
    if (now - forgotAt < FORGET_MS) return;
    forgotAt = now;
    for (const [key, { last }] of written) if (now - last > SERIES_MS) written.delete(key);
    for (const [uid, { filledAt }] of allowances) if (now - filledAt > BURST * REFILL_MS) allowances.delete(uid);
  }

  /** Returns false if the event does not exist any more. */
  async function countUp(series: Series): Promise<boolean> {
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
}

function namesOf({ key }: StatusTarget, random: Random): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = objectRefOf(key);
  const suffix = random.id().slice(0, 16);
  return { namespace: namespace === '' ? 'default' : namespace, name: `${name.slice(0, 220)}.${suffix}` };
}

function contentOf({ key, uid, apiVersion }: StatusTarget, { type, reason, message }: ResourceEvent) {
  const { kind, namespace, name } = objectRefOf(key);
  return {
    action: reason,
    reason,
    type,
    note: message.length > MAX_NOTE ? `${message.slice(0, MAX_NOTE - 3)}...` : message,
    regarding: { apiVersion, kind, name, uid, ...(namespace === '' ? {} : { namespace }) },
  };
}
