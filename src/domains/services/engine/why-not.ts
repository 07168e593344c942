import type { Collection } from '../../../engine/collections/types.ts';
import type { ValueRef, WhyNotReason } from '../../../engine/domain.ts';
import type { ClusterValue } from '../../../engine/fleet/clusters.ts';
import type { SnapshotValue } from '../../../engine/inputs.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { ObjectName } from '../../../model/fleet/explain-query.ts';
import { isKindWord } from '../../../model/objects/kinds.ts';
import { differences } from '../../../model/objects/label-differences.ts';
import { displayKey, labelsOf, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { isIn, isService, mayBeMirrored } from './live-services.ts';
import type { MirrorValue } from './mirrors.ts';
import { mirroredName, mirroredPrefix } from './names.ts';

interface MirrorState {
  readonly mirrors: Collection<MirrorValue>;
  readonly clusters: Collection<ClusterValue>;
  readonly live: Collection<LiveObject>;
  readonly snapshots: Collection<SnapshotValue>;
}

/** Reasons in one answer. */
const MOST_REASONS = 10;

/** Why a Service is not mirrored into a cluster: by its name it would stand for a Service of another one. Empty: for none. */
export function whyNotMirrored(state: MirrorState, cluster: string, name: ObjectName): readonly WhyNotReason[] {
  if (!isKindWord(name.kind, { group: '', kind: 'Service' })) return [];
  const origins = [...state.clusters.entries('')]
    .map(({ key }) => key)
    .filter((from) => from !== cluster && name.name.startsWith(mirroredPrefix(from)));
  return origins.flatMap((from) => fromCluster(state, from, cluster, name)).slice(0, MOST_REASONS);
}

function fromCluster(state: MirrorState, from: string, to: string, name: ObjectName): readonly WhyNotReason[] {
  const reading = [...state.mirrors.entries('')].map(({ value }) => value).filter((each) => isAmong(each.from, from));
  const services = [...state.live.entries(from)]
    .filter(({ key }) => isService(key) && standsFor(name, from, key as ObjectKey))
    .map(({ value }) => value);
  const feeding = reading.filter((each) => isAmong(each.to, to));
  if (services.length > 0) return services.flatMap((service) => ofService(service, from, to, { reading, feeding }));
  const isKnown = state.snapshots.get('', from) !== undefined;
  const lacks = isKnown ? `${from} has no Service of that name` : `nothing is known of what lives in ${from}`;
  return feeding.map((mirror) => {
    const message = `ServiceMirror ${mirror.declared.name} mirrors Services of ${from} into ${to}, and ${lacks}`;
    return { reason: 'NotMirrored', message, at: placeOf(mirror), todo: isKnown ? 'correct the name' : '' };
  });
}

function isAmong(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function standsFor(wanted: ObjectName, from: string, key: ObjectKey): boolean {
  const { namespace, name } = objectRefOf(key);
  if (wanted.namespace !== undefined && wanted.namespace !== namespace) return false;
  return mirroredName(from, name) === wanted.name;
}

interface Mirrors {
  /** Those that read the cluster of the Service. */
  readonly reading: readonly MirrorValue[];
  /** Those that also write to the other cluster. */
  readonly feeding: readonly MirrorValue[];
}

function ofService(
  service: LiveObject,
  from: string,
  to: string,
  { reading, feeding }: Mirrors,
): readonly WhyNotReason[] {
  const what = `${displayKey(service.key)} of cluster ${from}`;
  if (feeding.length === 0) {
    const message = `no ServiceMirror mirrors ${what} into ${to}`;
    const todo = 'let a ServiceMirror select both clusters';
    if (reading.length === 0) return [{ reason: 'NotMirrored', message, todo }];
    return reading.map((mirror) => {
      const other = `ServiceMirror ${mirror.declared.name} reads cluster ${from}, and does not mirror into ${to}`;
      return { reason: 'NotMirrored', message: other, at: placeOf(mirror, 'to'), todo };
    });
  }
  if (!mayBeMirrored(service)) {
    const message = `${what} is never mirrored: it is of the system, an ExternalName, or mirrored itself`;
    return [{ reason: 'NotMirrored', message, todo: '' }];
  }
  return feeding.flatMap((mirror) => ofMirror(mirror, service, what));
}

function ofMirror(mirror: MirrorValue, service: LiveObject, what: string): readonly WhyNotReason[] {
  const { name, value } = mirror.declared;
  if (!isIn(value.namespaces, service)) {
    const message = `ServiceMirror ${name} leaves out the namespace of ${what}`;
    const todo = 'change its namespaces';
    return [{ reason: 'NotMirrored', message, at: placeOf(mirror, 'namespaces'), todo }];
  }
  const differs = differences(value.serviceSelector, labelsOf(service.value), 'the Service');
  if (differs === undefined) return [];
  const message = `ServiceMirror ${name} does not select ${what}: ${differs.text}`;
  const todo = 'change the label of the Service, or the selector';
  return [{ reason: 'NotMirrored', message, at: placeOf(mirror, 'serviceSelector', ...differs.path), todo }];
}

function placeOf({ declared: { origin, identity } }: MirrorValue, ...path: readonly string[]): ValueRef {
  return { ...origin, identity, ...(path.length === 0 ? {} : { field: ['spec', ...path] }) };
}
