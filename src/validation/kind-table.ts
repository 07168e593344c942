import { compareText } from '../model/text/json.ts';
import { getOrInsert } from '../model/values/maps.ts';
import type { KindSchema, KindSchemas, Schema } from './values/schema.ts';

/** A version of a kind whose schema is made when it is first needed. */
export interface KindRow extends Omit<KindSchema, 'schema'> {
  schema(): Schema;
}

/** Makes the schemas of a set of kinds out of its rows. Of several rows with the same identity the first counts. */
export function createKindTable(rows: readonly KindRow[]): KindSchemas {
  const byId = new Map<string, KindRow>();
  const versions = new Map<string, string[]>();
  const kinds = new Map<string, Set<string>>();
  const groups = new Map<string, Set<string>>();
  for (const row of rows) {
    const { group, version, kind } = row;
    const id = `${group}/${version}/${kind}`;
    if (byId.has(id)) continue;
    byId.set(id, row);
    getOrInsert(versions, `${group}/${kind}`, () => []).push(version);
    getOrInsert(kinds, group, () => new Set<string>()).add(kind);
    getOrInsert(groups, kind, () => new Set<string>()).add(group);
  }
  for (const list of versions.values()) list.sort(compareVersions);
  const found = new Map<string, KindSchema>();
  const schemaOf = (id: string): KindSchema | undefined => {
    const known = found.get(id);
    const row = known === undefined ? byId.get(id) : undefined;
    if (row === undefined) return known;
    const schema: KindSchema = { ...row, schema: row.schema() };
    found.set(id, schema);
    return schema;
  };
  return {
    find: (group, version, kind) => schemaOf(`${group}/${version}/${kind}`),
    all: () => [...byId.keys()].flatMap((id) => schemaOf(id) ?? []),
    versionsOf: (group, kind) => versions.get(`${group}/${kind}`) ?? [],
    kindsOf: (group) => [...(kinds.get(group) ?? [])],
    groupsOf: (kind) => [...(groups.get(kind) ?? [])],
  };
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/**
 * Orders versions as Kubernetes prefers them: stable before beta before alpha, the newer one first, all others last.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [VERSION.exec(a), VERSION.exec(b)];
  if (left === null || right === null) {
    if (left === right) return compareText(a, b);
    return left === null ? 1 : -1;
  }
  const stability = (match: RegExpExecArray): number => (match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0);
  return (
    stability(right) - stability(left) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}
