import type { EngineKind } from '../../model/engine-kinds.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Declared } from '../fleet/declared.ts';
import type { Engine } from '../graph.ts';
import { routesTo } from '../placement/assignments.ts';
import type { PlacementValue } from '../placement/placements.ts';
import { worstFirst } from '../status/conditions.ts';
import { type DeclaredStatus, statusOf } from '../status/declared-status.ts';
import type { EngineDiagnostic } from '../status/diagnostic.ts';
import { engineDiagnostics } from '../status/diagnostics.ts';
import { progressGroup } from '../status/progress.ts';
import type { Reason } from './reason.ts';

/** Why a declaration of a kind that the engine reads is as it is. */
export interface DeclarationExplanation {
  /** Undefined: no source declares it. */
  readonly declared: Declared | undefined;
  readonly status: DeclaredStatus | undefined;
  /** What declares it, the declaration in force first. */
  readonly declares: readonly Reason[];
  /** The clusters that it selects. */
  readonly selects: readonly Reason[];
  /** What the engine finds wrong with it. */
  readonly findings: readonly EngineDiagnostic[];
}

/** At most so many objects are named; the message of the condition has the counts. */
const NAMED = 10;

/** What is known of a declaration: where it stands, what it selects and what is wrong with it. */
export function explainDeclaration(engine: Engine, kind: EngineKind, key: string): DeclarationExplanation {
  const declared = engine.declarations.get(kind, key);
  const placement = kind === 'Placement' ? engine.placements.get('', key) : undefined;
  return {
    declared,
    status: statusOf(engine, kind, key),
    declares: declared === undefined ? [] : declares(declared),
    selects: placement === undefined ? [] : selects(engine, placement),
    findings: declared === undefined ? [] : engineDiagnostics(engine).filter(({ at }) => isAbout(declared, at)),
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
    const cluster = engine.clusters.get('', name);
    if (cluster === undefined) return [];
    const byName = declared.value.clusterNames.includes(cluster.value.name);
    const part = byName ? 'is selected by its name' : 'is selected by its labels';
    return [
      { type: 'rule', kind: 'KubernetesCluster', name, at: { ...cluster.origin, identity: cluster.identity }, part },
    ];
  });
}

/** A declaration that holds as last known good is not found in its file, so what is said of the file is said of it. */
function isAbout({ origin, identity }: Declared, at: EngineDiagnostic['at']): boolean {
  return at.some((ref) => ref.source === origin.source && ref.path === origin.path && ref.identity === identity);
}

/**
 * The objects that a declaration is answerable for and that are not applied, the worst first: all of a cluster, and those
 * that a Placement sends. Of other kinds the conditions say it.
 */
export function troubledObjects(engine: Engine, kind: EngineKind, key: string): readonly Reason[] {
  const isSent = (cluster: string, path: string): boolean =>
    routesTo(cluster, path, engine.placementsByFolder).some(
      (route) => route.type === 'placement' && route.name === key,
    );
  const clusters = kind === 'KubernetesCluster' ? [key] : (engine.placements.get('', key)?.clusters ?? []);
  if (kind !== 'KubernetesCluster' && kind !== 'Placement') return [];
  const found: Reason[] = [];
  for (const state of worstFirst) {
    for (const cluster of clusters) {
      for (const { key: object, value } of engine.indexes.progress.members(progressGroup(cluster, state))) {
        if (kind === 'Placement' && !value.origins.some(({ path }) => isSent(cluster, path))) continue;
        found.push({ type: 'object', cluster, key: object as ObjectKey, progress: value });
        if (found.length === NAMED) return found;
      }
    }
  }
  return found;
}
