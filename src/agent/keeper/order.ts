import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { kindOf, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { InventoryRecord } from '../../ports/cluster-api.ts';

const CRD = 'apiextensions.k8s.io/CustomResourceDefinition';
const WEBHOOKS: readonly string[] = [
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
];

/**
 * Which work goes first; lower is earlier. What others need is made first (namespaces, definitions) and removed last;
 * webhooks, which could refuse the rest, are made last and removed first of all removals.
 */
export function workRank({ key, phase }: InventoryRecord): number {
  const kind = kindOf(key);
  const creation = kind === '/Namespace' ? 0 : kind === CRD ? 1 : WEBHOOKS.includes(kind) ? 3 : 2;
  return phase === 'held' ? creation : 7 - creation;
}

/**
 * What still lies in a Namespace or belongs to a definition and so keeps it from being removed; undefined if nothing
 * does, or if the object is of another kind. `value` is its last content, if it is known.
 */
export function occupantOf(
  record: InventoryRecord,
  value: JsonObject | undefined,
  records: Iterable<InventoryRecord>,
): ObjectKey | undefined {
  const kind = kindOf(record.key);
  if (kind !== '/Namespace' && kind !== CRD) return undefined;
  const { name } = objectRefOf(record.key);
  const defined = kind === CRD ? definedKind(name, value) : undefined;
  for (const { key } of records) {
    const ref = objectRefOf(key);
    const inside =
      defined === undefined
        ? ref.namespace === name
        : ref.group === defined.group && (defined.kind === undefined || ref.kind === defined.kind);
    if (inside && key !== record.key) return key;
  }
  return undefined;
}

/** A definition is named PLURAL.GROUP; without its content every kind of the group counts. */
function definedKind(name: string, value: JsonObject | undefined): { readonly group: string; readonly kind?: string } {
  const group = name.slice(name.indexOf('.') + 1);
  const spec = value?.spec;
  const names = isJsonObject(spec) ? spec.names : undefined;
  const kind = isJsonObject(names) ? names.kind : undefined;
  return typeof kind === 'string' ? { group, kind } : { group };
}
