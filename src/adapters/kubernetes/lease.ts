import { canonicalJson, type JsonObject, type JsonValue } from '../../model/json.ts';
import { objectOf, textOf } from '../../model/json-fields.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease, LeaseAnswer } from '../../ports/lease.ts';
import { microTime } from './api/micro-time.ts';
import { resourcePath } from './api/paths.ts';
import type { KubeAnswer, KubeClient } from './api/types.ts';

export interface LeaseDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
}

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** Of this process; no other one ever has it. */
  readonly identity: string;
  /** Milliseconds after which others take a lease that was not renewed; whole seconds. Default 9 s. */
  readonly durationMs?: number;
  /** Milliseconds that a term lasts for its holder, less than the duration: clocks differ, and requests are under way. Default 6 s. */
  readonly termMs?: number;
}

const DURATION_MS = 9_000;
const TERM_MS = 6_000;
/** The kind by which replicas elect a leader. */
export const LEASES = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/**
 * A Lease of an API server, with the meaning that client-go gives it. Whether another one's has run out is judged by the
 * time that has passed here since it was last seen to change, never by the time that is written in it.
 */
export function createKubernetesLease(deps: LeaseDeps, options: LeaseOptions): Lease {
  const { clock } = deps;
  const { identity, durationMs = DURATION_MS, termMs = TERM_MS } = options;
  const record = createLeaseRecord(deps, options, Math.floor(termMs * 0.7));
  return { acquire, release };

  async function acquire(): Promise<LeaseAnswer> {
    const found = await record.read();
    if (found.type === 'failed') return found;
    if (found.type === 'missing') {
      // Whoever takes the object away does not end the term of the process that held it.
      const before = record.last();
      return before !== undefined && isOthers(before) ? { type: 'taken', holder: before.holder } : take(undefined);
    }
    return isOthers(found.spec) ? { type: 'taken', holder: found.spec.holder } : take(found);
  }

  /** Is it somebody's who may be alive? */
  function isOthers({ holder, durationMs: theirs = durationMs }: LeaseSpec): boolean {
    return holder !== '' && holder !== identity && clock.monotonic() < record.unchangedSince() + theirs;
  }

  async function take(found: Found | undefined): Promise<LeaseAnswer> {
    const deadline = clock.monotonic() + termMs;
    const written = await record.write(found, claim(found?.spec));
    if (written.type === 'failed') return written;
    if (written.type === 'written') {
      return clock.monotonic() < deadline
        ? { type: 'held', deadline }
        : { type: 'failed', message: 'the lease was renewed too late' };
    }
    // Somebody was faster; or it was us, and the answer was lost.
    const now = await record.read();
    return now.type === 'found' && isOthers(now.spec)
      ? { type: 'taken', holder: now.spec.holder }
      : { type: 'failed', message: 'the lease was changed at the same moment' };
  }

  function claim(before: LeaseSpec | undefined): JsonObject {
    const now = microTime(clock.now());
    const renewed = before?.holder === identity;
    return {
      ...before?.rest,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: renewed ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: before === undefined ? 0 : before.transitions + (renewed ? 0 : 1),
    };
  }

  async function release(): Promise<void> {
    const found = await record.read();
    if (found.type !== 'found' || found.spec.holder !== identity) return;
    const { rest, transitions } = found.spec;
    const now = microTime(clock.now());
    const freed = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    await record.write(found, { ...rest, ...freed, leaseTransitions: transitions });
  }
}

type Failed = Extract<LeaseAnswer, { type: 'failed' }>;

interface Found {
  readonly type: 'found';
  /** With the resourceVersion that a write is conditional on. */
  readonly metadata: JsonObject;
  readonly spec: LeaseSpec;
}

/** The object in the cluster, and since when it has been as it is. */
function createLeaseRecord({ client, clock }: LeaseDeps, { namespace, name }: LeaseOptions, timeoutMs: number) {
  const collection = resourcePath({ resource: LEASES, namespace });
  const path = resourcePath({ resource: LEASES, namespace, name });
  let observed: { readonly text: string; readonly spec: LeaseSpec; readonly at: number } | undefined;
  return { read, write, last: () => observed?.spec, unchangedSince: () => observed?.at ?? clock.monotonic() };

  async function read(): Promise<Found | { readonly type: 'missing' } | Failed> {
    const answer = await client.request({ method: 'GET', path, timeoutMs });
    if (answer.type === 'ok') return note(answer.body);
    return answer.type === 'refused' && answer.status === 404 ? { type: 'missing' } : failed(answer, namespace);
  }

  /** `changed`: it is not as it was found any more. */
  async function write(
    found: Found | undefined,
    spec: JsonObject,
  ): Promise<{ readonly type: 'written' } | { readonly type: 'changed' } | Failed> {
    const metadata = found?.metadata ?? { name, namespace };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const how =
      found === undefined ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path } as const);
    const answer = await client.request({ ...how, timeoutMs, body });
    const gone = answer.type === 'refused' && answer.status === 404 && found !== undefined;
    if (gone || (answer.type === 'refused' && answer.status === 409)) return { type: 'changed' };
    if (answer.type !== 'ok') return failed(answer, namespace);
    note(answer.body);
    return { type: 'written' };
  }

  function note({ metadata, spec: said }: JsonObject): Found {
    const text = canonicalJson(said ?? null);
    const spec = readSpec(said);
    if (observed?.text !== text) observed = { text, spec, at: clock.monotonic() };
    return { type: 'found', metadata: withoutManagers(metadata), spec };
  }
}

interface LeaseSpec {
  /** Empty: nobody. */
  readonly holder: string;
  readonly durationMs?: number;
  readonly acquireTime?: string;
  readonly transitions: number;
  /** What others may have put there. */
  readonly rest: JsonObject;
}

function readSpec(value: JsonValue | undefined): LeaseSpec {
  const {
    holderIdentity,
    leaseDurationSeconds,
    acquireTime,
    renewTime: _,
    leaseTransitions,
    ...rest
  } = objectOf(value);
  return {
    holder: textOf(holderIdentity),
    ...(typeof leaseDurationSeconds === 'number' ? { durationMs: leaseDurationSeconds * 1000 } : {}),
    ...(typeof acquireTime === 'string' ? { acquireTime } : {}),
    transitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
    rest,
  };
}

function failed(answer: Exclude<KubeAnswer, { type: 'ok' }>, namespace: string): Failed {
  return { type: 'failed', message: failureText(answer, namespace) };
}

function failureText(answer: Exclude<KubeAnswer, { type: 'ok' }>, namespace: string): string {
  if (answer.type === 'unreachable') return `the API server does not answer: ${answer.message}`;
  const { status, refusal } = answer;
  if (status === 404) return `the namespace ${namespace} is not there; make it: kubectl create namespace ${namespace}`;
  return `the API server answered ${status} ${refusal.reason}: ${refusal.message}`;
}

function withoutManagers(metadata: JsonValue | undefined): JsonObject {
  const { managedFields: _, ...kept } = objectOf(metadata);
  return kept;
}
