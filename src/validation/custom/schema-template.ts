import { ok, problem, type Result } from '../../model/values/result.ts';

/** A version of a kind. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The word that stands for the schemas that ship with fleetrelay, which are always read first. */
export const DEFAULT_LOCATION = 'default';

/** What kubeconform adds to a location that names no file. */
const LAYOUT =
  '/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json';

const ACTION = /\{\{-?\s*(.*?)\s*-?\}\}/g;

const VARIABLES: Readonly<Record<string, (of: KindName, kubernetesVersion: string) => string>> = {
  '.NormalizedKubernetesVersion': (_, kubernetesVersion) => `v${kubernetesVersion}`,
  // fleetrelay is always strict.
  '.StrictSuffix': () => '-strict',
  '.ResourceKind': ({ kind }) => kind.toLowerCase(),
  '.ResourceAPIVersion': ({ version }) => version,
  // kubeconform takes the version for the group of a kind of the core group.
  '.Group': ({ group, version }) => (group === '' ? version : group),
  '.KindSuffix': ({ group, version }) =>
    group === '' ? `-${version.toLowerCase()}` : `-${group.split('.')[0]?.toLowerCase()}-${version.toLowerCase()}`,
};

/**
 * Parses a location in the form of kubeconform: a path or a URL of a JSON Schema with variables such as
 * `{{ .ResourceKind }}`; one that does not end in `json` is a folder in the layout of kubeconform. The result makes the path or
 * URL for a kind, or undefined for a kind whose name could leave the folder.
 * https://github.com/yannh/kubeconform#overriding-schemas-location
 *
 * @param kubernetesVersion as `1.36.0`
 */
export function parseLocation(
  location: string,
  kubernetesVersion: string,
): Result<(of: KindName) => string | undefined> {
  const template = location.endsWith('json') ? location : location.replace(/\/+$/, '') + LAYOUT;
  for (const [action = '', name = ''] of template.matchAll(ACTION)) {
    if (!Object.hasOwn(VARIABLES, name)) {
      const known = Object.keys(VARIABLES).map((variable) => `{{ ${variable} }}`);
      return problem(`the schema location ${location} has ${action}; the variables are ${known.join(', ')}`);
    }
  }
  return ok((of) =>
    isPlain(of)
      ? template.replaceAll(ACTION, (_, name: string) => VARIABLES[name]?.(of, kubernetesVersion) ?? '')
      : undefined,
  );
}

/** Manifests are not trusted: their kind becomes a part of a path. */
function isPlain({ group, version, kind }: KindName): boolean {
  return /^[A-Za-z0-9]+$/.test(kind) && /^[a-z0-9]+$/.test(version) && /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*)?$/.test(group);
}
