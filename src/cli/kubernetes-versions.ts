import { InvalidArgumentError, Option } from 'commander';
import type { ClusterView } from '../api/server-api.ts';
import { counted } from '../model/text/messages.ts';
import {
  type KubernetesVersion,
  kubernetesVersions,
  nearestKubernetesVersion,
} from '../validation/kubernetes-schemas.ts';

/** The versions of Kubernetes that a fleet runs. */
interface FleetVersions {
  /** Each minor version once, oldest first, as far as there are schemas of it. Empty: no cluster has reported one. */
  readonly versions: readonly KubernetesVersion[];
  /** Sentences about clusters that are checked as another version, or not for their version. */
  readonly warnings: readonly string[];
}

/** Finds the versions that the agents of clusters have reported. A version without schemas is replaced by the nearest one. */
export function fleetVersions(clusters: readonly ClusterView[]): FleetVersions {
  const versions = new Set<KubernetesVersion>();
  const warnings: string[] = [];
  let unknown = 0;
  for (const { name, kubernetesVersion } of clusters) {
    const stated = kubernetesVersion ?? '';
    const nearest = nearestKubernetesVersion(stated);
    if (nearest === undefined) {
      unknown += 1;
      continue;
    }
    versions.add(nearest);
    if (minorVersionIn(stated) !== nearest) {
      warnings.push(
        `cluster ${name} runs Kubernetes ${stated}, which has no schemas here; it is checked as ${nearest}`,
      );
    }
  }
  if (unknown > 0)
    warnings.push(`${counted(unknown, 'cluster')} of ${clusters.length} reported no version of Kubernetes`);
  return { versions: kubernetesVersions.filter((version) => versions.has(version)), warnings };
}

function minorVersionIn(text: string): string | undefined {
  return /^v?(1\.\d+)/.exec(text)?.[1];
}

/** `--kubernetes-version`: minor versions; may be repeated. A patch version counts as its minor version. */
export function kubernetesVersionOption(help: string): Option {
  return new Option('--kubernetes-version <version>', `${help}; may be repeated (default: the newest)`)
    .choices(kubernetesVersions)
    .argParser((text: string, before: readonly KubernetesVersion[] = []) => [...before, minorVersion(text)]);
}

function minorVersion(text: string): KubernetesVersion {
  const minor = /^v?1\.\d+(?:\.\d+)?$/.test(text) ? minorVersionIn(text) : undefined;
  const known = kubernetesVersions.find((version) => version === minor);
  if (known !== undefined) return known;
  const nearest = nearestKubernetesVersion(text);
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  throw new InvalidArgumentError(`Allowed choices are ${kubernetesVersions.join(', ')}.${hint}`);
}
