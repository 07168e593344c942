import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { CHARTS, PROJECT, type Release } from './rendering.ts';

export const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** Sets of values that a chart is tried with, by the names of the files in its folder `ci`, without `-values.yaml`. */
function releasesOf(chart: string, namespace: string): Readonly<Record<string, Release>> {
  const folder = join(PROJECT, CHARTS, chart, 'ci');
  const files = globSync('*-values.yaml', { cwd: folder }).sort();
  return Object.fromEntries(
    files.map((file) => {
      const set = file.replace('-values.yaml', '');
      const values = load(readFileSync(join(folder, file), 'utf8')) as Release['values'];
      return [set, { name: set === 'most' ? 'other' : chart, namespace, values }];
    }),
  );
}

export const SERVER_RELEASES = releasesOf('fleetrelay', 'fleetrelay-server');
export const AGENT_RELEASES = releasesOf('fleetrelay-agent', 'fleetrelay');
export const CRD_RELEASES = releasesOf('fleetrelay-crds', 'default');

/** Every release, with its chart. */
export const RELEASES: readonly (readonly [chart: string, set: string, release: Release])[] = Object.entries({
  fleetrelay: SERVER_RELEASES,
  'fleetrelay-agent': AGENT_RELEASES,
  'fleetrelay-crds': CRD_RELEASES,
}).flatMap(([chart, releases]) => Object.entries(releases).map(([set, release]) => [chart, set, release] as const));

/** The release of a set of values. */
export function releaseOf(releases: Readonly<Record<string, Release>>, set: string): Release {
  const release = releases[set];
  if (release === undefined) throw new Error(`no chart is tried with ${set}-values.yaml`);
  return release;
}

/** Several servers: the leader elected in Redis, and by a Lease of the cluster. */
export const REPLICATED: Readonly<Record<'store' | 'kubernetes', Release>> = {
  store: releaseOf(SERVER_RELEASES, 'replicas-redis'),
  kubernetes: releaseOf(SERVER_RELEASES, 'replicas-lease'),
};
