import { compareText } from '../../model/json.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Engine } from '../graph.ts';

/** What a person's way of naming an object stands for in one cluster. */
export type FoundObject =
  | { readonly type: 'found'; readonly key: ObjectKey }
  | { readonly type: 'ambiguous'; readonly keys: readonly ObjectKey[] }
  | { readonly type: 'none'; readonly elsewhere: readonly string[] };

/**
 * Finds `KIND/NAMESPACE/NAME` or `KIND/NAME` in what a cluster should hold or holds of ours. The kind may carry its
 * group (`Deployment.apps`), and its case does not matter.
 */
export function findObject(engine: Engine, cluster: string, text: string): FoundObject {
  const matches = (key: string): boolean => matchesName(key as ObjectKey, text);
  const keys = [...engine.outputs.entries(cluster)].map(({ key }) => key as ObjectKey).filter(matches);
  const [key] = keys;
  if (key !== undefined && keys.length === 1) return { type: 'found', key };
  if (keys.length > 1) return { type: 'ambiguous', keys: keys.sort(compareText) };
  const elsewhere = [...engine.outputs.partitions()].filter((other) =>
    [...engine.outputs.entries(other)].some((entry) => matches(entry.key)),
  );
  return { type: 'none', elsewhere: elsewhere.sort(compareText) };
}

function matchesName(key: ObjectKey, text: string): boolean {
  const { group, kind, namespace, name } = objectRefOf(key);
  const parts = text.split('/');
  const [wantedKind = '', ...rest] = parts;
  const kinds = [kind, displayKey(key).split('/')[0] ?? kind, `${kind}.${group}`].map((each) => each.toLowerCase());
  if (!kinds.includes(wantedKind.toLowerCase())) return false;
  if (rest.length === 1) return rest[0] === name;
  return rest.length === 2 && rest[0] === namespace && rest[1] === name;
}
