import { Buffer } from 'node:buffer';
import { zstdDecompressSync } from 'node:zlib';
import { createKindTable, type KindRow } from './kind-table.ts';
import type { KindSchemas, Schema } from './values/schema.ts';

/** A minor version of Kubernetes whose schemas ship with fleetrelay. */
export type KubernetesVersion = (typeof kubernetesVersions)[number];

/** All of them, oldest first. */
export const kubernetesVersions = ['1.33', '1.34', '1.35', '1.36'] as const;

/** The newest version whose schemas ship with fleetrelay. */
export const newestKubernetesVersion = '1.36' satisfies KubernetesVersion;

/** The schemas of the kinds of a Kubernetes version. */
export interface KubernetesSchemas extends KindSchemas {
  readonly version: KubernetesVersion;
  /** Of the sources that they are made from, as `v1.36.3`. */
  readonly release: string;
  /** The schema that a `$ref` of any of the kinds names. */
  definition(ref: string): Schema | undefined;
  /** All kinds, by group, version and kind. */
  readonly kinds: readonly Pick<KindRow, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'>[];
}

const MODULES: Readonly<Record<KubernetesVersion, () => Promise<{ readonly schemas: string }>>> = {
  '1.33': () => import('../../generated/kubernetes/v1.33.ts'),
  '1.34': () => import('../../generated/kubernetes/v1.34.ts'),
  '1.35': () => import('../../generated/kubernetes/v1.35.ts'),
  '1.36': () => import('../../generated/kubernetes/v1.36.ts'),
};

/**
 * Opens the schemas of a version, in about a millisecond: they are decompressed at once, and each definition is parsed when
 * it is first needed.
 */
export async function openKubernetesSchemas(version: KubernetesVersion): Promise<KubernetesSchemas> {
  const { schemas } = await MODULES[version]();
  const text = zstdDecompressSync(Buffer.from(schemas, 'base64')).toString('utf8');
  const [release = '', rows = '', ...lines] = text.split('\n');
  const definition = lazyDefinitions(lines);
  const kinds = (JSON.parse(rows) as GeneratedRow[]).map(([group, kindVersion, kind, plural, namespaced, name]) => ({
    group,
    version: kindVersion,
    kind,
    plural,
    namespaced,
    definition,
    schema: (): Schema => definition(`${REFERENCE}${name}`) ?? {},
  }));
  return { version, release: JSON.parse(release) as string, definition, kinds, ...createKindTable(kinds) };
}

type GeneratedRow = readonly [
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  name: string,
];

const REFERENCE = '#/definitions/';

/** Parses a definition when it is first asked for; the same reference always gives the same object. */
function lazyDefinitions(lines: readonly string[]): (ref: string) => Schema | undefined {
  const texts = new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line] as const));
  const parsed = new Map<string, Schema>();
  return (ref) => {
    const known = parsed.get(ref);
    if (known !== undefined) return known;
    const name = ref.slice(REFERENCE.length);
    const line = texts.get(name);
    if (line === undefined) return undefined;
    const schema = JSON.parse(line.slice(name.length + 1)) as Schema;
    parsed.set(ref, schema);
    return schema;
  };
}

/**
 * The supported version that is nearest to what a person or an API server states (`1.34`, `v1.34.2`, `v1.35.1-gke.100`): an
 * older one becomes the oldest, a newer one the newest. Undefined if the text is no version.
 */
export function nearestKubernetesVersion(text: string): KubernetesVersion | undefined {
  const minor = /^v?1\.(\d{1,4})(?:[.+-]|$)/.exec(text)?.[1];
  if (minor === undefined) return undefined;
  return kubernetesVersions.findLast((version) => Number(version.slice(2)) <= Number(minor)) ?? kubernetesVersions[0];
}
