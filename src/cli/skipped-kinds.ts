import type { ValidationReport } from '../compose/validate/report.ts';
import { didYouMean } from '../manifest/problem.ts';
import { engineKindIds } from '../model/fleet/engine-kinds.ts';
import { kubernetesVersions, openKubernetesSchemas } from '../validation/kubernetes-schemas.ts';

/** Whether a value of `--skip` has the form `Kind`, `group/Kind` or `apiVersion/Kind`. */
export function isSkipForm(skip: string): boolean {
  return /^(?:[^/\s]+\/){0,2}[^/\s]+$/.test(skip);
}

/** Sentences about values of `--skip` that name a kind of no document, of no version of Kubernetes and not of fleetrelay. */
export async function unknownSkips(
  skips: readonly string[],
  resources: ValidationReport['resources'],
): Promise<readonly string[]> {
  if (skips.length === 0) return [];
  const known = new Set<string>(engineKindIds);
  for (const { apiVersion, kind } of resources) addNames(known, apiVersion, kind);
  const unknown = skips.filter((skip) => !known.has(skip));
  if (unknown.length === 0) return [];
  for (const { kinds } of await Promise.all(kubernetesVersions.map(openKubernetesSchemas))) {
    for (const { group, version, kind } of kinds) addNames(known, group === '' ? version : `${group}/${version}`, kind);
  }
  return unknown
    .filter((skip) => !known.has(skip))
    .map((skip) => {
      const hint = didYouMean(skip, known);
      return `--skip ${skip} has no effect: no document and no schema has this kind${hint === undefined ? '' : ` (${hint})`}`;
    });
}

/** The names by which `--skip` leaves out a kind. */
function addNames(known: Set<string>, apiVersion: string, kind: string): void {
  const [group = '', version] = apiVersion.split('/');
  known.add(kind).add(`${apiVersion}/${kind}`);
  if (version !== undefined) known.add(`${group}/${kind}`);
}
