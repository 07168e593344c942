import { canonicalJson, type JsonObject, objectOf, textOf } from '../../model/text/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease } from '../../ports/lease.ts';
import {
  acquireObserved,
  LEASE_DURATION_MS,
  LEASE_TERM_MS,
  type LeaseTimes,
  type LeaseView,
} from '../lease/observed-lease.ts';
import { microTime } from './api/micro-time.ts';
import { resourcePath } from './api/paths.ts';
import type { KubeAnswer, KubeClient } from './api/types.ts';

interface LeaseDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
}

interface LeaseOptions extends LeaseTimes {
  readonly namespace: string;
  readonly name: string;
}

/** The kind by which replicas elect a leader. */
export const LEASES = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

interface FoundLease extends LeaseView {
  /** With the resourceVersion that a write is conditional on. */
  readonly metadata: JsonObject;
  readonly acquireTime: string | undefined;
  readonly transitions: number;
  /** Fields of the spec that other programs have set. */
  readonly rest: JsonObject;
}

/** A Lease of an API server, with the meaning that client-go gives it. */
export function createKubernetesLease({ client, clock }: LeaseDeps, options: LeaseOptions): Lease {
  const { namespace, name, identity, durationMs = LEASE_DURATION_MS, termMs = LEASE_TERM_MS } = options;
  const timeoutMs = Math.floor(termMs * 0.7);
  const collection = resourcePath({ resource: LEASES, namespace });
  const path = resourcePath({ resource: LEASES, namespace, name });

  const read = async (): Promise<FoundLease> => {
    const answer = await client.request({ method: 'GET', path, timeoutMs });
    if (answer.type === 'ok') return foundLease(answer.body);
    if (answer.type === 'refused' && answer.status === 404) return foundLease(undefined);
    throw new Error(failureText(answer, namespace));
  };
  /** False: the Lease is not as it was found any more. */
  const write = async ({ holder, metadata }: FoundLease, spec: JsonObject): Promise<boolean> => {
    const isNew = holder === undefined;
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      spec,
      metadata: isNew ? { name, namespace } : metadata,
    };
    const how = isNew ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path } as const);
    const answer = await client.request({ ...how, timeoutMs, body });
    if (answer.type === 'ok') return true;
    if (answer.type === 'refused' && (answer.status === 409 || (answer.status === 404 && !isNew))) return false;
    throw new Error(failureText(answer, namespace));
  };
  const take = (found: FoundLease): Promise<boolean> => {
    const { holder, acquireTime, transitions, rest } = found;
    const now = microTime(clock.now());
    const isRenewal = holder === identity;
    return write(found, {
      ...rest,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: isRenewal ? (acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: holder === undefined || isRenewal ? transitions : transitions + 1,
    });
  };
  const release = async (): Promise<void> => {
    const found = await read();
    if (found.holder !== identity) return;
    const { rest, transitions } = found;
    const now = microTime(clock.now());
    const freed = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    await write(found, { ...rest, ...freed, leaseTransitions: transitions });
  };
  return {
    acquire: acquireObserved(clock, { read, take }, options),
    // If the API server does not answer, other processes wait until the lease expires.
    release: () => release().catch(() => undefined),
  };
}

/** Undefined: there is no Lease. */
function foundLease(lease: JsonObject | undefined): FoundLease {
  const { managedFields: _, ...metadata } = objectOf(lease?.metadata);
  const {
    holderIdentity,
    leaseDurationSeconds,
    acquireTime,
    renewTime: __,
    leaseTransitions,
    ...rest
  } = objectOf(lease?.spec);
  return {
    metadata,
    rest,
    holder: lease === undefined ? undefined : textOf(holderIdentity),
    ...(typeof leaseDurationSeconds === 'number' ? { durationMs: leaseDurationSeconds * 1000 } : {}),
    version: canonicalJson(lease?.spec ?? null),
    acquireTime: typeof acquireTime === 'string' ? acquireTime : undefined,
    transitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
  };
}

function failureText(answer: Exclude<KubeAnswer, { type: 'ok' }>, namespace: string): string {
  if (answer.type === 'unreachable') return `the API server does not answer: ${answer.message}`;
  const { status, refusal } = answer;
  if (status === 404) return `the namespace ${namespace} is not there; make it: kubectl create namespace ${namespace}`;
  return `the API server answered ${status} ${refusal.reason}: ${refusal.message}`;
}
