import { InvalidArgumentError, Option } from 'commander';
import { counted } from '../model/messages.ts';
import type { ClusterView } from '../server/api.ts';
import { type KubernetesVersion, kubernetesVersions } from '../validation/kubernetes-schemas.ts';

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
  for (const { name, kubernetesVersion } of clusters) {
    const minor = minorOf(kubernetesVersion ?? '');
    if (minor === undefined) continue;
    const nearest = nearestTo(minor);
    versions.add(nearest);
    if (nearest !== `1.${minor}`) {
      warnings.push(
        `cluster ${name} runs Kubernetes ${kubernetesVersion}, which has no schemas here; it is checked as ${nearest}`,
      );
    }
  }
  const unknown = clusters.filter(({ kubernetesVersion }) => minorOf(kubernetesVersion ?? '') === undefined).length;
  if (unknown > 0)
    warnings.push(`${counted(unknown, 'cluster')} of ${clusters.length} reported no version of Kubernetes`);
  return { versions: kubernetesVersions.filter((version) => versions.has(version)), warnings };
}

function minorOf(version: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

function nearestTo(minor: number): KubernetesVersion {
  return kubernetesVersions.findLast((version) => Number(version.slice(2)) <= minor) ?? kubernetesVersions[0];
}

/** `--kubernetes-version`: minor versions; may be repeated. A patch version counts as its minor version. */
export function kubernetesVersionOption(help: string): Option {
  return new Option('--kubernetes-version <version>', `${help}; may be repeated (default: the newest)`)
    .choices(kubernetesVersions)
    .argParser((text: string, before: readonly KubernetesVersion[] = []) => [...before, minorVersion(text)]);
}

function minorVersion(text: string): KubernetesVersion {
  const minor = /^v?(1\.\d+)(?:\.\d+)?$/.exec(text)?.[1];
  const known = kubernetesVersions.find((version) => version === minor);
  if (known !== undefined) return known;
  const nearest = minor === undefined ? '' : ` Did you mean ${nearestTo(Number(minor.slice(2)))}?`;
  throw new InvalidArgumentError(`Allowed choices are ${kubernetesVersions.join(', ')}.${nearest}`);
}
