import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Contribution } from '../collections/types.ts';
import { documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import type { Output } from '../output/outputs.ts';
import { type Route, routesTo } from '../placement/assignments.ts';
import type { Candidate } from '../placement/candidates.ts';
import type { Progress } from '../status/progress.ts';
import type { Reason } from './reason.ts';

/** Why an object of a cluster is as it is. */
export interface ObjectExplanation {
  readonly progress: Progress | undefined;
  readonly reasons: readonly Reason[];
}

/** Walks from an output back to every document that has a part in it, by what the graph already holds. */
export function explainObject(engine: Engine, cluster: string, key: ObjectKey): ObjectExplanation {
  const output = engine.outputs.get(cluster, key);
  const candidates = engine.candidates.get(cluster, key) ?? [];
  const winner = output?.type === 'object' ? output.origins[0] : undefined;
  const derived = domainReasons(engine, candidates, output);
  const claims = candidates.filter(({ value }) => value.derived === undefined);
  const declarations = claims.map(({ from }): Reason & { readonly type: 'declares' } => {
    const at = documentRefOf(from);
    return { type: 'declares', at, counts: winner === undefined || sameOrigin(winner, at) };
  });
  const former = (output?.origins ?? [])
    .filter((origin) => ![...declarations, ...derived].some((by) => 'at' in by && sameOrigin(by.at, origin)))
    .map((at): Reason => ({ type: 'declared', at }));
  const paths = [...new Set(declarations.map(({ at }) => at.path))];
  const routes = new Map(
    paths
      .flatMap((path) => routesTo(cluster, path, engine.placementsByFolder))
      .map((route) => [JSON.stringify(route), route]),
  );
  return {
    progress: engine.progress.get(cluster, key),
    reasons: [
      ...declarations.sort((a, b) => Number(b.counts) - Number(a.counts)),
      ...derived,
      ...former,
      ...scopeReasons(derived, output),
      ...[...routes.values()].flatMap((route) => routeReason(engine, route)),
      ...clusterReason(engine, cluster),
    ],
  };
}

/** What the domains say of the candidates that come from them. */
function domainReasons(
  { domains }: Engine,
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const derived = candidates.filter(({ value }) => value.derived !== undefined);
  if (derived.length === 0) return [];
  return domains.flatMap(({ domain: { name }, parts: { explains } }) => {
    const claims = derived.filter(({ value }) => value.derived?.domain === name);
    return claims.length === 0 || explains === undefined ? [] : explains(claims, output);
  });
}

function scopeReasons(seen: readonly Reason[], output: Output | undefined): readonly Reason[] {
  if (output === undefined || output.type === 'absent') return [];
  const known = new Set(seen.map((reason) => (reason.type === 'live' ? reason.cluster : '')));
  return output.scope.filter((cluster) => !known.has(cluster)).map((cluster) => ({ type: 'scope', cluster }));
}

function routeReason(engine: Engine, route: Route): readonly Reason[] {
  if (route.type === 'folder') return [route];
  const placement = engine.placements.get('', route.name);
  if (placement === undefined) return [];
  const { origin, identity } = placement.declared;
  const part = 'selects the file and the cluster';
  return [{ type: 'rule', kind: 'Placement', name: route.name, at: { ...origin, identity }, part }];
}

function clusterReason(engine: Engine, name: string): readonly Reason[] {
  const cluster = engine.clusters.get('', name);
  if (cluster === undefined) return [];
  const at = { ...cluster.origin, identity: cluster.identity };
  return [{ type: 'rule', kind: 'KubernetesCluster', name, at, part: 'declares the cluster' }];
}

function sameOrigin(a: Origin, b: Origin): boolean {
  return a.source === b.source && a.path === b.path;
}
