import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import { type DocumentRef, documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { type Route, routesTo } from '../placement/assignments.ts';
import type { Progress } from '../status/progress.ts';

/** One document that has a part in an output, and the part it has. */
export type Reason =
  | { readonly type: 'declares'; readonly at: DocumentRef; readonly counts: boolean }
  /** Declared there when it was last accepted; nothing declares it now. */
  | { readonly type: 'declared'; readonly at: Origin }
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string; readonly at: DocumentRef }
  | { readonly type: 'cluster'; readonly name: string; readonly at: DocumentRef };

/** Why an object of a cluster is as it is. */
export interface ObjectExplanation {
  readonly progress: Progress | undefined;
  readonly reasons: readonly Reason[];
}

/** Walks from an output back to every document that has a part in it, by what the graph already holds. */
export function explainObject(engine: Engine, cluster: string, key: ObjectKey): ObjectExplanation {
  const output = engine.outputs.get(cluster, key);
  const claims = engine.candidates.get(cluster, key) ?? [];
  const winner = output?.type === 'object' ? output.origins[0] : undefined;
  const declarations = claims.map(({ from }): Reason & { readonly type: 'declares' } => {
    const at = documentRefOf(from);
    return { type: 'declares', at, counts: winner === undefined || sameOrigin(winner, at) };
  });
  const former = (output?.origins ?? [])
    .filter((origin) => !declarations.some(({ at }) => sameOrigin(at, origin)))
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
      ...former,
      ...[...routes.values()].flatMap((route) => routeReason(engine, route)),
      ...clusterReason(engine, cluster),
    ],
  };
}

function routeReason(engine: Engine, route: Route): readonly Reason[] {
  if (route.type === 'folder') return [route];
  const placement = engine.placements.get('', route.name);
  if (placement === undefined) return [];
  const { origin, identity } = placement.declared;
  return [{ type: 'placement', name: route.name, at: { ...origin, identity } }];
}

function clusterReason(engine: Engine, name: string): readonly Reason[] {
  const cluster = engine.clusters.get('', name);
  if (cluster === undefined) return [];
  return [{ type: 'cluster', name, at: { ...cluster.origin, identity: cluster.identity } }];
}

function sameOrigin(a: Origin, b: Origin): boolean {
  return a.source === b.source && a.path === b.path;
}
