/** A kind that an API server can create: group, version, kind, plural, whether it is namespaced, name of its definition. */
export type KindRow = readonly [
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  definition: string,
];

interface Operation {
  readonly 'x-kubernetes-group-version-kind'?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  };
  readonly parameters?: readonly { readonly in: string; readonly schema?: { readonly $ref?: string } }[];
}

/** The part of the published OpenAPI that is read here. */
export interface Swagger {
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

/** A schema of the published OpenAPI. */
export type JsonSchema = { readonly [keyword: string]: unknown };

const COLLECTION = /^\/apis?\/(?:[^/]+\/)?v[^/]+\/(namespaces\/\{namespace\}\/)?([a-z]+)$/;

/** The kinds that can be created by a POST to a collection, in canonical order. Subresources are left out. */
export function readKinds({ paths }: Swagger): readonly KindRow[] {
  const rows: KindRow[] = [];
  for (const [path, { post }] of Object.entries(paths)) {
    const [, namespaces, plural] = COLLECTION.exec(path) ?? [];
    const id = post?.['x-kubernetes-group-version-kind'];
    if (plural === undefined || id === undefined) continue;
    const body = post?.parameters?.find((parameter) => parameter.in === 'body')?.schema?.$ref;
    if (body === undefined) throw new Error(`${path}: its POST has no body`);
    const { group, version, kind } = id;
    rows.push([group, version, kind, plural, namespaces !== undefined, body.replace('#/definitions/', '')]);
  }
  return rows.sort((a, b) => (a.slice(0, 3).join('/') < b.slice(0, 3).join('/') ? -1 : 1));
}
