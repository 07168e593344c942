import { countProgress, type Engine } from '../../engine/graph.ts';
import { countOutcomes } from '../../engine/status/conditions.ts';
import type { Progress } from '../../engine/status/progress.ts';
import type { ConditionValue } from '../../model/conditions.ts';
import { quote } from '../../model/ids.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import { rfc3339 } from '../../model/time.ts';
import type {
  Answer,
  ClusterView,
  DesiredView,
  HeldRemovalsView,
  OutputView,
  SourceView,
  SuspensionView,
} from '../../server/api.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HeldSet } from '../removals/approvals.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceState } from '../source-table.ts';
import { displaySuspension, type Suspension, type Suspensions } from '../suspensions.ts';

/** What knows of clusters. */
interface ClusterDeps {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly sessions: Sessions;
  readonly suspensions: Suspensions;
}

/** A registered cluster for people; undefined if there is none of that name. */
export function clusterView(
  { engine, ledger, sessions, suspensions }: ClusterDeps,
  name: string,
): ClusterView | undefined {
  const declared = engine.clusters.get('', name);
  const status = engine.statuses.get('KubernetesCluster', name);
  if (declared === undefined || status === undefined) return undefined;
  const { connected = false, since = 0, warm = false, trouble = '' } = engine.inputs.agents.get('', name) ?? {};
  const registration = ledger.registration(name);
  const suspension = suspensions.get('cluster', name);
  // That it is accepted shows by its being listed.
  const conditions = status.conditions.filter(({ type }) => type !== 'Accepted');
  return {
    name,
    labels: declared.value.labels,
    id: registration?.id ?? null,
    released: registration?.released ?? false,
    connected,
    connectionSince: since === 0 ? null : rfc3339(since),
    warm,
    inSync: conditions.some(({ type, status: value }) => type === 'InSync' && value === 'True'),
    position: registration?.position ?? { epoch: 0, sequence: 0 },
    counts: countOutcomes(countProgress(engine, name)),
    message: clusterMessage(conditions, trouble, suspension),
    agentVersion: sessions.get(name)?.session.hello.version ?? null,
    trouble,
    suspended: suspensionView(suspension),
    conditions: [...conditions, ...suspendedCondition(suspension)],
  };
}

/** What a person should hear of first: why nothing moves, then what is not known, then how far it is. */
function clusterMessage(
  conditions: readonly ConditionValue[],
  trouble: string,
  suspension: Suspension | undefined,
): string {
  const said = (type: string): string => conditions.find((condition) => condition.type === type)?.message ?? '';
  const stopped = suspension === undefined ? '' : displaySuspension(suspension);
  return [stopped, trouble, said('Discovered'), said('Ready')].filter((text) => text !== '').join('; ');
}

/** All registered clusters, in canonical order. */
export function clusterViews(deps: ClusterDeps): readonly ClusterView[] {
  return [...deps.engine.clusters.entries('')]
    .map(({ key }) => key)
    .sort(compareText)
    .flatMap((name) => clusterView(deps, name) ?? []);
}

/** Everything that one cluster should hold or holds of ours, in canonical order. */
export function outputViews(engine: Engine, cluster: string): readonly OutputView[] {
  return [...engine.progress.entries(cluster)]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ key, value }) => outputView(cluster, key, value));
}

function outputView(cluster: string, key: string, progress: Progress): OutputView {
  const { state, digest, health = null, origins, reason, message } = progress;
  // A digest of a Secret would let whoever reads it try out values.
  const shown = objectRefOf(key as ObjectKey).kind === 'Secret' ? null : digest;
  return { cluster, object: displayKey(key as ObjectKey), state, digest: shown, health, origins, reason, message };
}

/**
 * What one cluster should hold, in canonical order. A removal, and what is kept as it is, is nothing to be made.
 * `withSecrets`: for use inside a process that has the sources itself; what leaves a server never has them.
 */
export function desiredViews(
  engine: Engine,
  cluster: string,
  { withSecrets }: { readonly withSecrets: boolean },
): readonly DesiredView[] {
  return [...engine.outputs.entries(cluster)]
    .sort((a, b) => compareText(a.key, b.key))
    .flatMap(({ key, value: output }) => {
      if (output.type === 'absent') {
        return [{ key, value: null, origins: output.origins, scope: [], message: output.message }];
      }
      if (output.type !== 'object') return [];
      const isHidden = !withSecrets && objectRefOf(key as ObjectKey).kind === 'Secret';
      const { value, origins, scope } = output;
      return [{ key, value: isHidden ? null : value, origins, scope, message: '' }];
    });
}

/** Said only where there is something to say. */
function suspendedCondition(suspension: Suspension | undefined): ClusterView['conditions'] {
  if (suspension === undefined) return [];
  return [{ type: 'Suspended', status: 'True', reason: 'SuspendedByPerson', message: displaySuspension(suspension) }];
}

function suspensionView(suspension: Suspension | undefined): SuspensionView | null {
  return suspension === undefined ? null : { ...suspension, at: rfc3339(suspension.at) };
}

/** A source for people. */
export function sourceView({ source, condition, admitted }: SourceState, suspensions: Suspensions): SourceView {
  const suspension = suspensions.get('source', source.name);
  const stopped = suspension === undefined ? [] : [displaySuspension(suspension)];
  return {
    name: source.name,
    address: source.address,
    state: condition.state,
    revision: admitted?.revision ?? null,
    refusedRevision: condition.refusedRevision ?? null,
    partial: admitted?.state === 'partial',
    suspended: suspensionView(suspension),
    message: [...stopped, condition.message].filter((text) => text !== '').join('; '),
  };
}

/** Held removals for people. */
export function heldView(set: HeldSet | undefined): readonly HeldRemovalsView[] {
  if (set === undefined) return [];
  const removals = set.removals.map(({ cluster, key }) => ({ cluster, object: displayKey(key as ObjectKey) }));
  return [{ digest: set.digest, reason: set.reason, message: set.message, removals }];
}

/** The rows of a view of some domain. */
export function viewRows({ domains }: Engine, name: string): Answer<readonly JsonObject[]> {
  const views = new Map(domains.flatMap(({ parts: { views: ofDomain = {} } }) => Object.entries(ofDomain)));
  const rows = views.get(name);
  if (rows !== undefined) return { ok: true, value: rows() };
  const message = `there is no view ${quote(name)}; there are ${[...views.keys()].sort(compareText).join(', ')}`;
  return { ok: false, kind: 'notFound', message };
}
