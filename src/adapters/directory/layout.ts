import { createHash } from 'node:crypto';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';

/**
 * The path of an object's file in a directory cluster, relative to its root, with `/`:
 * `namespaces/NAMESPACE/KIND[.GROUP]/NAME.yaml` and `cluster/KIND[.GROUP]/NAME.yaml`, the kind in lower case.
 */
export function pathOfObject(key: ObjectKey): string {
  const { group, kind, namespace, name } = objectRefOf(key);
  const folder = `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`;
  const place = namespace === '' ? 'cluster' : `namespaces/${namespace}`;
  return `${place}/${folder}/${fileName(name)}.yaml`;
}

/** What a path of the layout implies for the objects in it. */
export interface LayoutPlace {
  /** Lower-case. */
  readonly kind: string;
  readonly group: string;
  readonly namespace: string;
}

/** The kind, group and namespace of a path; undefined if the path does not follow the layout. */
export function placeOfPath(path: string): LayoutPlace | undefined {
  const parts = path.split('/');
  const [top = '', second = ''] = parts;
  const folder = top === 'cluster' && parts.length === 3 ? second : undefined;
  const inNamespace = top === 'namespaces' && parts.length === 4 ? parts[2] : undefined;
  const found = folder ?? inNamespace;
  if (found === undefined || found === '') return undefined;
  const dot = found.indexOf('.');
  return {
    kind: dot < 0 ? found : found.slice(0, dot),
    group: dot < 0 ? '' : found.slice(dot + 1),
    namespace: inNamespace === undefined ? '' : second,
  };
}

/** Longest file name without extension that every file system accepts. */
const LONGEST_NAME = 200;

/**
 * The name of an object as a file name. Object names contain no `%`, so it escapes the characters that some file systems
 * refuse. A name that is too long ends in a part of its hash.
 */
function fileName(name: string): string {
  const escaped = name.replace(/^[.]|[^A-Za-z0-9._-]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
  if (escaped.length <= LONGEST_NAME) return escaped;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 24);
  return `${escaped.slice(0, LONGEST_NAME - 26)}%-${hash}`;
}

/** Whether a file of this name holds live state. Hidden files, editors' backup files and other extensions do not. */
export function isManifestName(name: string): boolean {
  return /^[^.].*\.(yaml|yml|json)$/i.test(name);
}
