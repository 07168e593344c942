import type { Collection, Derived, Entry, Graph, Index, Reader } from '../../../../engine/collections/types.ts';
import { type Deadline, hasPassed } from '../../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { agentReportKey, agentReportKind } from '../../../../model/agent/agent-report.ts';
import { labelsOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { formatGoDuration } from '../../../../model/text/go-duration.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf, textsOf } from '../../../../model/text/json.ts';
import { firstNames } from '../../../../model/text/messages.ts';
import { goTime, parseRfc3339 } from '../../../../model/text/time.ts';
import { CERTIFICATE_REPORT } from '../../model/reports.ts';
import { CARE } from '../absences.ts';
import type { BoundShoot } from '../binding.ts';
import { bounded } from '../bounded-text.ts';
import type { Cause, ConditionFinding } from '../thresholds.ts';
import { type ClusterReads, kindObstacle, namespaceObstacle, notChecked } from '../visibility.ts';

/** The type of the constraint. */
export const CERTIFICATE_VALIDITIES = 'CACertificateValiditiesAcceptable';

export const SECRET_KIND = '/Secret';
/** The labels of the Secrets of a Shoot's authorities in its control plane. Source: Gardener's secrets manager. */
export const AUTHORITY_LABELS = {
  'managed-by': 'secrets-manager',
  'manager-identity': 'gardenlet',
  persist: 'true',
} as const;
const VALID_UNTIL = 'valid-until-time';

const REPORT_KEY = agentReportKey(CERTIFICATE_REPORT);

/** A certificate should be valid for at least a year. Source: Gardener's constraints. */
const LEAST_VALIDITY_MS = 365 * 24 * 3_600_000;
const LEAST_VALIDITY = formatGoDuration(LEAST_VALIDITY_MS);

/** Most certificates of a report that are judged. */
const MOST_CERTIFICATES = 100;
/** Most authorities that a message names. */
const MOST_NAMED = 50;

/** An authority, or why it cannot be judged. */
interface Authority {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly validUntil?: number;
  readonly problem?: string;
}

interface Reads extends Pick<EngineInputs, 'live' | 'kinds' | 'elapsed'>, Pick<ClusterReads, 'agents'> {
  readonly bindings: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
}

/**
 * Derives whether the authorities of a Shoot are valid for long enough: those in its control plane, or without a Seed those that
 * its agent reports. Key: the Shoot's.
 */
export function deriveAuthorityFindings(graph: Graph, reads: Reads) {
  const { bindings, live, kinds, agents, settings, elapsed } = reads;
  const authorities = deriveAuthorities(graph, live);
  const deadlines = graph.derive<Authority, Deadline>({
    name: 'deadlinesOfAuthorities',
    from: authorities,
    seesAll: true,
    compute: ({ partition: cluster, key, value }, _read, emit) => {
      if (value.validUntil !== undefined) emit(CARE, deadlineKey(cluster, key), { at: expiringAt(value.validUntil) });
    },
  });
  const bad: Derived<Authority> = graph.derive<Authority, Authority>({
    name: 'badAuthorities',
    from: authorities,
    reads: [elapsed],
    compute: ({ partition: cluster, key, value }, read, emit) => {
      const { validUntil } = value;
      const isExpiring =
        validUntil !== undefined && hasPassed(read, elapsed, CARE, deadlineKey(cluster, key), expiringAt(validUntil));
      if (isExpiring || value.problem !== undefined) emit(cluster, key, value);
    },
  });
  const index = graph.index('badAuthoritiesByPlace', bad, ({ partition: cluster, key, value }) => {
    const { namespace } = objectRefOf(key as ObjectKey);
    const place = placeGroup(cluster, namespace);
    return [place, value.problem === undefined ? expiring(place) : unreadable(place)];
  });
  const findings: Derived<ConditionFinding> = graph.derive<BoundShoot, ConditionFinding>({
    name: 'authoritiesOfShoots',
    from: bindings,
    reads: [index, live, kinds, agents, settings],
    scope: ({ value: { cluster, seed = cluster } }) => [seed],
    compute: ({ key, value: shoot }, read, emit) => {
      if (!shoot.isIgnored) emit('', key, findingOf(read, shoot, index, reads));
    },
  });
  return { findings, deadlines, collections: [authorities, bad, findings] };
}

/** Partition: the cluster. Key: the object's key, with the name of the certificate if the object has several. */
function deriveAuthorities(graph: Graph, live: EngineInputs['live']): Derived<Authority> {
  return graph.derive<LiveObject, Authority>({
    name: 'authorities',
    from: live,
    keys: (key) => key === REPORT_KEY || key.startsWith(`${SECRET_KIND}/`),
    compute: ({ partition: cluster, key, value: { value } }, _read, emit) => {
      if (key === REPORT_KEY) {
        const all = objectOf(value.status);
        for (const authority of reported(all)) emit(cluster, `${key} ${authority.name}`, authority);
      } else {
        const authority = authorityOf(value, objectRefOf(key as ObjectKey).name);
        if (authority !== undefined) emit(cluster, key, authority);
      }
    },
  });
}

/** The authority of a Secret by its labels alone; undefined: it holds none. */
function authorityOf(value: JsonObject, secret: string): Authority | undefined {
  const labels = labelsOf(value);
  if (Object.entries(AUTHORITY_LABELS).some(([label, wanted]) => labels[label] !== wanted)) return undefined;
  const text = textOf(labels[VALID_UNTIL]);
  const name = textOf(labels.name) || secret;
  const refusal = refusalOfGo(text);
  if (refusal === undefined) return { name, validUntil: Number(text) * 1000 };
  const parsed = `strconv.ParseInt: parsing ${JSON.stringify(bounded(text))}: ${refusal}`;
  return { name, problem: `could not parse ${VALID_UNTIL} label from secret ${JSON.stringify(secret)}: ${parsed}` };
}

/** Why Go would not parse a text as a whole number of 64 bits; undefined: it would. Source: `strconv.ParseInt`. */
function refusalOfGo(text: string): string | undefined {
  if (!/^[+-]?\d{1,100}$/.test(text)) return 'invalid syntax';
  const number = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, number) === number ? undefined : 'value out of range';
}

/** The authorities of a report: of each name the certificate that expires first. */
function reported({ certificates, problems }: JsonObject): Iterable<Authority> {
  const all = objectsOf(certificates);
  const byName = new Map<string, Authority>();
  const put = (authority: Authority): void => {
    const { validUntil = Number.NEGATIVE_INFINITY } = authority;
    const before = byName.get(authority.name)?.validUntil ?? Number.POSITIVE_INFINITY;
    if (!byName.has(authority.name) || validUntil < before) byName.set(authority.name, authority);
  };
  for (const { name, notAfter } of all.slice(0, MOST_CERTIFICATES)) {
    const validUntil = parseRfc3339(textOf(notAfter));
    const known = { name: bounded(textOf(name)) };
    if (validUntil !== undefined) put({ ...known, validUntil });
    else put({ ...known, problem: `the end of certificate ${known.name} is no time` });
  }
  const [problem] = textsOf(problems);
  if (problem !== undefined) put({ name: '', problem: bounded(problem) });
  if (all.length > MOST_CERTIFICATES) {
    put({ name: '', problem: `of ${all.length} certificates only ${MOST_CERTIFICATES} are judged` });
  }
  return byName.values();
}

/** The first whole second since 1970 at which the rest of the validity is too short. */
function expiringAt(validUntil: number): number {
  return Math.floor((validUntil - LEAST_VALIDITY_MS) / 1000) + 1;
}

function deadlineKey(cluster: string, key: string): string {
  return `certificate/${cluster}/${key}`;
}

/** The authorities in a namespace, or those that the agent of a cluster reports; in groups of their own by what is wrong. */
function placeGroup(cluster: string, namespace: string): string {
  return `${cluster}/${namespace}`;
}

function expiring(place: string): string {
  return `${place}/expiring`;
}

function unreadable(place: string): string {
  return `${place}/unreadable`;
}

const GOOD: ConditionFinding = {
  outcome: 'good',
  reason: 'NoExpiringCACertificates',
  message: `All CA certificates are still valid for at least ${LEAST_VALIDITY}.`,
};

function findingOf(
  read: Reader,
  { cluster, seed, controlPlaneNamespace }: BoundShoot,
  index: Index<Authority>,
  reads: Reads,
): ConditionFinding {
  const [holder, namespace] = seed === undefined ? [cluster, ''] : [seed, controlPlaneNamespace];
  const place = placeGroup(holder, namespace);
  const isBad = read.count(index, place) > 0;
  const problem = isBad ? problemFinding(read, index, unreadable(place)) : undefined;
  const expires = isBad ? expiringFinding(read, index, expiring(place)) : undefined;
  if (seed === undefined) return expires ?? problem ?? reportObstacle(read, cluster, reads) ?? GOOD;
  return problem ?? expires ?? namespaceObstacle(read, reads, seed, namespace, SECRET_KIND) ?? GOOD;
}

function problemFinding(read: Reader, index: Index<Authority>, group: string): ConditionFinding | undefined {
  const [first] = read.first(index, group, 1);
  if (first?.value.problem === undefined) return undefined;
  return { ...notChecked(first.value.problem), cause: causeOf(first) };
}

function expiringFinding(read: Reader, index: Index<Authority>, group: string): ConditionFinding | undefined {
  const all = read.first(index, group, MOST_NAMED);
  const [first] = all;
  if (first === undefined) return undefined;
  const named = firstNames(all.map(textOfExpiring).sort(), MOST_NAMED, read.count(index, group));
  const what = `Some CA certificates are expiring in less than ${LEAST_VALIDITY}, you should rotate them`;
  const message = `${what}: ${named}`;
  return { outcome: 'failed', reason: 'ExpiringCACertificates', message, cause: causeOf(first) };
}

/** The Secret or the report that an authority is from. */
function causeOf({ partition: cluster, key }: Entry<Authority>): Cause {
  const [object = key] = key.split(' ');
  return { cluster, key: object as ObjectKey };
}

function textOfExpiring({ value: { name, validUntil = 0 } }: Entry<Authority>): string {
  return `${JSON.stringify(name)} (expiring at ${goTime(validUntil)})`;
}

/** Why the report of the agent is not here; undefined: it is, or there can be none. */
function reportObstacle(read: Reader, cluster: string, { live, kinds, agents }: Reads): ConditionFinding | undefined {
  const unseen = kindObstacle(read, kinds, cluster, agentReportKind(CERTIFICATE_REPORT));
  if (unseen !== undefined) return unseen;
  // A directory has no authorities.
  const isHere = read.get(live, cluster, REPORT_KEY) !== undefined;
  if (isHere || read.get(agents, '', cluster)?.kindsAsWritten === true) return undefined;
  return notChecked(`the agent of cluster ${cluster} reports no certificates of its authorities`);
}
