import { type ObjectKey, objectKey, objectRefOf, parseObjectRef } from '../../model/objects/object-key.ts';

/** Stands for the namespace of cluster-scoped resources; no namespace can have this name. */
const NO_NAMESPACE = '_cluster';

/** The path of the file of a custom resource: `KIND.GROUP/NAMESPACE/NAME.yaml`. */
export function resourcePath(key: ObjectKey): string {
  const { group, kind, namespace, name } = objectRefOf(key);
  return `${kind}.${group}/${namespace === '' ? NO_NAMESPACE : namespace}/${name}.yaml`;
}

/** The custom resource of a file; undefined if the path is not one of {@link resourcePath}. */
export function resourceOfPath(path: string): ObjectKey | undefined {
  const match = /^([^./]+)\.([^/]+)\/([^/]+)\/(.+)\.yaml$/.exec(path);
  if (match === null) return undefined;
  const [, kind = '', group = '', namespace = '', name = ''] = match;
  const ref = parseObjectRef({ group, kind, namespace: namespace === NO_NAMESPACE ? '' : namespace, name });
  return ref.ok ? objectKey(ref.value) : undefined;
}

/** The path of the unreadable file that stands for a kind that cannot be listed. `kind` is `group/Kind`. */
export function kindPath(kind: string): string {
  return `${displayKind(kind)}.yaml`;
}

/** `group/Kind` as people write it: `Placement.fleetrelay.dev`. */
export function displayKind(kind: string): string {
  const [group, name] = kind.split('/');
  return `${name}.${group}`;
}
