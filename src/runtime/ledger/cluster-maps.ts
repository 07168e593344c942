import type { Input } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { KindState, LiveObject, ObjectResult } from '../../model/agent.ts';
import type { Digest } from '../../model/ids.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../model/json.ts';
import { objectOf } from '../../model/json-fields.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { jsonCodec, type MapReading, type StoredMap, type ValueCodec } from '../stored/stored-map.ts';

/** The checked maps of one cluster. */
export interface ClusterMapTypes {
  readonly entries: LedgerEntry;
  readonly live: LiveObject;
  readonly kinds: KindState;
  readonly results: ObjectResult;
}

export type ClusterMapKind = keyof ClusterMapTypes;

/** The encoding of each map. */
export const clusterCodecs: { readonly [Kind in ClusterMapKind]: ValueCodec<ClusterMapTypes[Kind]> } = {
  entries: jsonCodec(),
  live: {
    encode: ({ value, digest }) => [digest, canonicalJson(value)],
    decode: (json, key) => (Array.isArray(json) ? restoredObject(key, json[0], json[1]) : undefined),
    equals: (a, b) => a.digest === b.digest,
  },
  kinds: jsonCodec(),
  results: jsonCodec(),
};

export const clusterMapKinds: readonly ClusterMapKind[] = ['entries', 'live', 'kinds', 'results'];

/** The name of a cluster's map in the store. */
export function clusterMapName(cluster: string, kind: ClusterMapKind): string {
  return `clusters/${cluster}/${kind}`;
}

/** The cluster and the kind of a map; undefined if the name is no name of a cluster's map. */
export function clusterMapOf(name: string): { readonly cluster: string; readonly kind: ClusterMapKind } | undefined {
  const [, cluster, last, ...more] = name.split('/');
  const kind = clusterMapKinds.find((known) => known === last);
  return cluster === undefined || kind === undefined || more.length > 0 || !name.startsWith('clusters/')
    ? undefined
    : { cluster, kind };
}

/** The maps of a cluster as read from the store; an absent one is missing. */
export type ClusterReadings = { readonly [Kind in ClusterMapKind]?: MapReading<ClusterMapTypes[Kind]> };

/** Data in the manifest of a cluster's live objects. */
export interface LiveMeta {
  /** When the snapshot was last complete, in milliseconds since 1970. */
  readonly since: number;
}

/** When a stored input snapshot was last complete, in milliseconds since 1970. */
export function snapshotSince({ meta }: StoredMap<LiveObject>): number {
  const { since } = objectOf(meta);
  return typeof since === 'number' ? since : 0;
}

/** Stages changes of a cluster's map in the engine; null: deleted. */
export function stageClusterMap<Kind extends ClusterMapKind>(
  engine: Engine,
  cluster: string,
  kind: Kind,
  changes: Iterable<readonly [string, ClusterMapTypes[Kind] | null]>,
): void {
  const { ledger, live, kinds, results } = engine.inputs;
  const inputs: { readonly [Each in ClusterMapKind]: Input<ClusterMapTypes[Each]> } = {
    entries: ledger,
    ...{ live, kinds, results },
  };
  const input: Input<ClusterMapTypes[Kind]> = inputs[kind];
  for (const [key, value] of changes) {
    if (value === null) input.delete(cluster, key);
    else input.set(cluster, key, value);
  }
}

/**
 * Whether the input snapshot and the results are valid. Both belong to a registration. The snapshot needs live objects and
 * kinds.
 */
export function countsOf(
  { live, kinds }: ClusterReadings,
  isRegistered: boolean,
): { readonly snapshot: boolean; readonly results: boolean } {
  return { snapshot: isRegistered && live?.type === 'complete' && kinds?.type === 'complete', results: isRegistered };
}

/** The complete and valid maps: these are staged when a server starts. */
export function countedReadings(readings: ClusterReadings, isRegistered: boolean): ClusterReadings {
  const { entries, live, kinds, results } = readings;
  const counts = countsOf(readings, isRegistered);
  return {
    ...(entries?.type === 'complete' ? { entries } : {}),
    ...(counts.results && results?.type === 'complete' ? { results } : {}),
    ...(counts.snapshot && live !== undefined && kinds !== undefined ? { live, kinds } : {}),
  };
}

/** Stages the complete and valid maps of a cluster. */
export function stageClusterReadings(
  engine: Engine,
  cluster: string,
  readings: ClusterReadings,
  isRegistered: boolean,
): void {
  const { entries, live, kinds, results } = countedReadings(readings, isRegistered);
  if (entries?.type === 'complete') stageClusterMap(engine, cluster, 'entries', entries.map.values);
  if (results?.type === 'complete') stageClusterMap(engine, cluster, 'results', results.map.values);
  if (kinds?.type === 'complete') stageClusterMap(engine, cluster, 'kinds', kinds.map.values);
  if (live?.type !== 'complete') return;
  stageClusterMap(engine, cluster, 'live', live.map.values);
  engine.inputs.snapshots.set('', cluster, { since: snapshotSince(live.map) });
}

/** The content is parsed on access: most of it is never read, and text needs less memory. */
function restoredObject(
  key: string,
  digest: JsonValue | undefined,
  content: JsonValue | undefined,
): LiveObject | undefined {
  if (typeof digest !== 'string' || typeof content !== 'string') return undefined;
  return {
    key: key as ObjectKey,
    digest: digest as Digest,
    get value(): JsonObject {
      const value = parseJson(content);
      if (!isJsonObject(value)) throw new Error('the content of a stored object is not an object');
      return value;
    },
  };
}
