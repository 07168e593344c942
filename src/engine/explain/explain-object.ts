import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Contribution } from '../collections/types.ts';
import { type DocumentRef, documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import type { Output } from '../output/outputs.ts';
import { type Route, routesTo } from '../placement/assignments.ts';
import type { Candidate } from '../placement/candidates.ts';
import type { Progress } from '../status/progress.ts';

/** One document that has a part in an output, and the part it has. */
export type Reason =
  | { readonly type: 'declares'; readonly at: DocumentRef; readonly counts: boolean }
  /** Declared there when it was last accepted; nothing declares it now. */
  | { readonly type: 'declared'; readonly at: Origin }
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string; readonly at: DocumentRef }
  | { readonly type: 'cluster'; readonly name: string; readonly at: DocumentRef }
  /** It stands for a live object of another cluster. */
  | { readonly type: 'live'; readonly cluster: string; readonly key: ObjectKey; readonly counts: boolean }
  | { readonly type: 'mirror'; readonly name: string; readonly at: DocumentRef }
  /** It could have been computed from what lives in another cluster; what that was is not seen any more. */
  | { readonly type: 'scope'; readonly cluster: string };

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
  const mirrored = mirrorReasons(engine, candidates, output);
  const claims = candidates.filter(({ value }) => value.mirrors === undefined);
  const declarations = claims.map(({ from }): Reason & { readonly type: 'declares' } => {
    const at = documentRefOf(from);
    return { type: 'declares', at, counts: winner === undefined || sameOrigin(winner, at) };
  });
  const former = (output?.origins ?? [])
    .filter((origin) => ![...declarations, ...mirrored].some((by) => 'at' in by && sameOrigin(by.at, origin)))
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
      ...mirrored,
      ...former,
      ...scopeReasons(mirrored, output),
      ...[...routes.values()].flatMap((route) => routeReason(engine, route)),
      ...clusterReason(engine, cluster),
    ],
  };
}

/** The live objects that it stands for, the one that counts first, and the ServiceMirrors that take them. */
function mirrorReasons(
  engine: Engine,
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const live = candidates.flatMap(({ value: { mirrors, scope, digest } }): (Reason & { readonly type: 'live' })[] => {
    if (mirrors === undefined) return [];
    const counts = output?.type !== 'object' || (output.digest === digest && output.scope[0] === scope[0]);
    return [{ type: 'live', cluster: scope[0] ?? '', key: mirrors, counts }];
  });
  const byMirror = new Map(
    candidates.flatMap(({ from, value }) => {
      if (value.mirrors === undefined) return [];
      const at = documentRefOf(from);
      const name = engine.exports.get(from.partition, from.key)?.mirror ?? '';
      return [[name, { type: 'mirror', name, at } as const] as const];
    }),
  );
  const byObject = new Map(live.map((reason) => [`${reason.cluster}/${reason.key}`, reason]));
  return [...[...byObject.values()].sort((a, b) => Number(b.counts) - Number(a.counts)), ...byMirror.values()];
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
