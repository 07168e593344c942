import { metadataOf } from '../../../model/objects/object-key.ts';
import {
  compareText,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../../model/text/json.ts';
import { parseRfc3339, rfc3339 } from '../../../model/text/time.ts';
import { given } from '../../../model/values/given.ts';
import type { JudgedLeases } from './agent-tasks.ts';

/**
 * What an agent reports of the Leases that it judges: the status of its LeaseReport. It changes only when a Lease appears,
 * disappears, expires or recovers. Both lists are in canonical order.
 */
export interface LeaseReport {
  /** `NAMESPACE/NAME` of the Leases whose holders renew them. */
  readonly valid: readonly string[];
  readonly expired: readonly ExpiredLease[];
  /** How many more Leases there are, which no list names; absent: none. */
  readonly leftOut?: number;
}

/** A Lease that its holder has not renewed in time. */
export interface ExpiredLease {
  /** `NAMESPACE/NAME`. */
  readonly lease: string;
  /** RFC 3339; absent: it was never renewed. */
  readonly renewTime?: string;
}

/** A judged Lease. */
export interface LeaseTimes {
  /** `NAMESPACE/NAME`. */
  readonly lease: string;
  /** Milliseconds since 1970; absent: it was never renewed. */
  readonly renewedAt?: number;
  /** It has expired after this moment, in milliseconds since 1970; absent: it has never been valid. */
  readonly validUntil?: number;
}

/** Most Leases that a report names. */
export const MOST_NAMED_LEASES = 100_000;

/** The report of these `coordination.k8s.io/Lease` objects at a moment. If there are too many, the expired ones are named first. */
export function leaseReportOf(
  leases: Iterable<JsonObject>,
  judged: readonly JudgedLeases[],
  nowMillis: number,
): LeaseReport {
  const valid: string[] = [];
  const expired: ExpiredLease[] = [];
  for (const each of leases) {
    const times = leaseTimesOf(each, judged);
    if (times === undefined) continue;
    const { lease, renewedAt, validUntil } = times;
    if (validUntil !== undefined && nowMillis <= validUntil) valid.push(lease);
    else expired.push({ lease, ...(renewedAt === undefined ? {} : { renewTime: rfc3339(renewedAt) }) });
  }
  return bounded(
    valid.sort(compareText),
    expired.sort((a, b) => compareText(a.lease, b.lease)),
    0,
  );
}

/** The times of a Lease by the first rule that it fits; undefined: it is not judged. */
export function leaseTimesOf(lease: JsonObject, judged: readonly JudgedLeases[]): LeaseTimes | undefined {
  const namespace = textOf(metadataOf(lease).namespace);
  const name = textOf(metadataOf(lease).name);
  const rule = judged.find((each) => each.namespace === namespace && name.startsWith(each.namePrefix ?? ''));
  if (rule === undefined) return undefined;
  const { renewTime, leaseDurationSeconds } = objectOf(lease.spec);
  const renewedAt = parseRfc3339(textOf(renewTime));
  const own = typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds * 1_000 : undefined;
  const duration = rule.staleAfterMillis ?? own;
  return {
    lease: `${namespace}/${name}`,
    ...given({ renewedAt }),
    ...(renewedAt === undefined || duration === undefined ? {} : { validUntil: renewedAt + duration }),
  };
}

/** Reads the status of a LeaseReport; what is malformed in it is left out. */
export function readLeaseReport(status: JsonValue | undefined): LeaseReport {
  const { valid, expired, leftOut } = objectOf(status);
  const readExpired = objectsOf(expired).flatMap(({ lease, renewTime }): readonly ExpiredLease[] => {
    if (textOf(lease) === '') return [];
    const isTime = parseRfc3339(textOf(renewTime)) !== undefined;
    return [{ lease: textOf(lease), ...(isTime ? { renewTime: textOf(renewTime) } : {}) }];
  });
  return bounded(textsOf(valid), readExpired, typeof leftOut === 'number' && leftOut > 0 ? leftOut : 0);
}

function bounded(valid: readonly string[], expired: readonly ExpiredLease[], leftOutBefore: number): LeaseReport {
  const namedExpired = expired.slice(0, MOST_NAMED_LEASES);
  const namedValid = valid.slice(0, MOST_NAMED_LEASES - namedExpired.length);
  const leftOut = leftOutBefore + valid.length + expired.length - namedValid.length - namedExpired.length;
  return { valid: namedValid, expired: namedExpired, ...(leftOut === 0 ? {} : { leftOut }) };
}
