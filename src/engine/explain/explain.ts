import type { EngineKind } from '../../model/fleet/engine-kinds.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { Contribution } from '../collections/types.ts';
import type { EngineDiagnostic, Reason } from '../domain.ts';
import type { Declared } from '../fleet/declared.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import { cachedByFile, documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import type { Output } from '../output/outputs.ts';
import { maySelect, placementsOf, type Route, routesTo } from '../placement/assignments.ts';
import { selects as selectsFile } from '../placement/matching.ts';
import type { PlacementValue } from '../placement/placements.ts';
import type { Candidate } from '../placement/wants.ts';
import { engineDiagnostics } from '../status/diagnostics.ts';
import { MOST_LISTED } from '../status/listed.ts';
import { clusterSubject, driftGroup, stateGroup, worstFirst } from '../status/progress.ts';

/** Explains an output by the documents, rules and live objects that it depends on. */
export function explainObject(engine: Engine, cluster: string, key: ObjectKey) {
  const output = engine.outputs.get(cluster, key);
  const candidates = engine.candidates.get(cluster, key) ?? [];
  const winner = output?.type === 'object' ? output.origins[0] : undefined;
  const derived = domainReasons(engine, candidates, output);
  const claims = candidates.filter(({ value }) => value.derived === undefined);
  const declarations = claims.map(({ from }): Reason & { readonly type: 'declares' } => {
    const at = documentRefOf(from);
    return { type: 'declares', at, counts: winner === undefined || isSameOrigin(winner, at) };
  });
  const former = (output?.origins ?? [])
    .filter((origin) => !claims.some(({ value: { placedBy } }) => isSameOrigin(origin, placedBy)))
    .filter((origin) => ![...declarations, ...derived].some((by) => 'at' in by && isSameOrigin(by.at, origin)))
    .map((at): Reason => ({ type: 'declared', at }));
  const routes = new Map(
    declarations
      .flatMap(({ at }) => routesTo(cluster, at, engine.placementIndexes))
      .map((route) => [JSON.stringify(route), route]),
  );
  return {
    progress: engine.progress.get(cluster, key),
    /** The rule by which a domain makes the object; undefined: a document declares the object itself. */
    madeBy: derived.find((reason) => reason.type === 'rule'),
    reasons: [
      ...declarations.sort((a, b) => Number(b.counts) - Number(a.counts)),
      ...derived,
      ...former,
      ...scopeReasons(derived, output),
      ...[...routes.values()].flatMap((route) => routeReason(engine, route)),
      ...ruleReason(engine.clusters.get('', cluster), 'declares the cluster'),
    ],
  };
}

/** The explanations of the domains for their candidates. */
function domainReasons(
  { domains }: Engine,
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const derived = candidates.filter(({ value }) => value.derived !== undefined);
  if (derived.length === 0) return [];
  return domains.flatMap(({ domain: { name }, report: { shows } }) => {
    const claims = derived.filter(({ value }) => value.derived?.domain === name);
    return claims.length === 0 ? [] : (shows?.explains?.(claims, output) ?? []);
  });
}

function scopeReasons(seen: readonly Reason[], output: Output | undefined): readonly Reason[] {
  if (output === undefined || output.type === 'absent') return [];
  const known = new Set(seen.map((reason) => (reason.type === 'live' ? reason.cluster : '')));
  return output.scope.filter((cluster) => !known.has(cluster)).map((cluster) => ({ type: 'scope', cluster }));
}

function routeReason(engine: Engine, route: Route): readonly Reason[] {
  if (route.type === 'folder') return [route];
  return ruleReason(engine.placements.get('', route.name)?.declared, 'selects the file and the cluster');
}

function ruleReason(declared: Declared | undefined, part: string): readonly Reason[] {
  if (declared === undefined) return [];
  const { kind, name, origin, identity } = declared;
  return [{ type: 'rule', kind, name, at: { ...origin, identity }, part }];
}

/** An explanation names at most this many objects; the condition has the counts. */
const NAMED = 10;

/** Explains a declaration: its documents, the clusters that it selects, and its findings. */
export function explainDeclaration(engine: Engine, kind: EngineKind, key: string) {
  const declared = engine.declarations.get(kind, key);
  const placement = kind === 'Placement' ? engine.placements.get('', key) : undefined;
  return {
    declared,
    status: engine.statuses.get(kind, key),
    /** Its documents, the one in force first. */
    declares: declared === undefined ? [] : declares(declared),
    /** The clusters that it selects. */
    selects: placement === undefined ? [] : selects(engine, placement),
    findings:
      declared === undefined ? [] : engineDiagnostics(engine, MOST_LISTED).filter(({ at }) => isAbout(declared, at)),
  };
}

function declares({ origin, identity, isLastKnownGood, losers }: Declared): readonly Reason[] {
  const inForce: Reason = isLastKnownGood
    ? { type: 'declared', at: origin }
    : { type: 'declares', at: { ...origin, identity }, counts: true };
  return [inForce, ...losers.map((at): Reason => ({ type: 'declares', at, counts: false }))];
}

function selects(engine: Engine, { declared, clusters }: PlacementValue): readonly Reason[] {
  return clusters.flatMap((name): readonly Reason[] => {
    const byName = declared.value.clusters.names.some((each) => each === name);
    return ruleReason(engine.clusters.get('', name), `is selected by its ${byName ? 'name' : 'labels'}`);
  });
}

/** A last known good declaration has no document now, so the findings about its file are about it. */
function isAbout({ origin, identity }: Declared, at: EngineDiagnostic['at']): boolean {
  return at.some((ref) => ref.source === origin.source && ref.path === origin.path && ref.identity === identity);
}

/** The objects of a cluster or of a Placement that are not applied, or have drifted, the most urgent first; empty for other kinds. */
export function problemsOfObjects(engine: Engine, kind: EngineKind, key: string): readonly Reason[] {
  if (kind !== 'KubernetesCluster' && kind !== 'Placement') return [];
  const placement = kind === 'Placement' ? engine.placements.get('', key) : undefined;
  // All Placements are matched only for files that this one selects.
  const isPlaced = cachedByFile(
    (file) =>
      placement !== undefined &&
      maySelect(placement, file.source) &&
      selectsFile(placement, file) &&
      placementsOf(file, engine.placementIndexes).selecting.some(({ key: name }) => name === key),
  );
  const clusters = kind === 'KubernetesCluster' ? [key] : (placement?.clusters ?? []);
  const found: Reason[] = [];
  const groups = [...worstFirst.map((state) => (subject: string) => stateGroup(subject, state)), driftGroup];
  for (const groupOf of groups) {
    for (const cluster of clusters) {
      for (const { key: object, value } of engine.indexes.progressBySubject.members(groupOf(clusterSubject(cluster)))) {
        if (kind === 'Placement' && !value.origins.some(isPlaced)) continue;
        found.push({ type: 'object', cluster, key: object as ObjectKey, progress: value });
        if (found.length === NAMED) return found;
      }
    }
  }
  return found;
}
