import type { AgentCertificateView, AgentRefusalView } from '../../api/agent-views.ts';
import type { Answer } from '../../api/answer.ts';
import type {
  ClusterView,
  DesiredView,
  HeldRemovalsView,
  OutputView,
  SourceView,
  SuspensionView,
} from '../../api/server-api.ts';
import type { Engine } from '../../engine/graph.ts';
import { countsOf } from '../../engine/status/progress.ts';
import { clusterTally } from '../../engine/status/rollout.ts';
import { type AgentRefusal, refusalText } from '../../model/agent/agent-refusal.ts';
import { quote } from '../../model/fleet/ids.ts';
import type { Registration } from '../../model/fleet/ledger.ts';
import type { ViewFilter } from '../../model/fleet/view-filter.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../model/objects/secret-values.ts';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { firstNames } from '../../model/text/messages.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { given } from '../../model/values/given.ts';
import type { ServerParts } from '../parts.ts';
import type { RefusedAgents } from '../refused-agents.ts';
import type { HeldSet } from '../removals/approvals.ts';
import { isPartial, type SourceState } from '../source-table.ts';
import { displaySuspension, type Suspension, type Suspensions } from '../suspensions.ts';

type ClusterDeps = Pick<ServerParts, 'engine' | 'ledger' | 'sessions' | 'suspensions'> & {
  readonly refusedAgents: Pick<RefusedAgents, 'of'>;
  readonly signer: string;
};

/** The view of a registered cluster; undefined if there is none of that name. */
export function clusterView(
  { engine, ledger, sessions, suspensions, refusedAgents, signer }: ClusterDeps,
  name: string,
): ClusterView | undefined {
  const declared = engine.clusters.get('', name);
  const status = engine.statuses.get('KubernetesCluster', name);
  if (declared === undefined || status === undefined) return undefined;
  const { connected = false, since = 0, warm = false, problem = '' } = engine.inputs.agents.get('', name) ?? {};
  const registration = ledger.registration(name);
  const suspension = suspensions.get('cluster', name);
  const stopped = suspension === undefined ? '' : displaySuspension(suspension);
  // A listed cluster is accepted.
  const conditions = status.conditions.filter(({ type }) => type !== 'Accepted');
  const messageOf = (of: string): string => conditions.find(({ type }) => type === of)?.message ?? '';
  const refusal = refusedAgents.of(name);
  const refused = refusal === undefined ? '' : refusalText(refusal);
  const asleep = engine.domains.flatMap(({ parts }) => parts.agents?.asleep?.get('', name) ?? [])[0];
  const tally = clusterTally(engine, name);
  // In this order: why nothing changes, what is not known, and the progress.
  const messages = [
    stopped,
    asleep ?? '',
    problem,
    refused,
    messageOf('WithinLimits'),
    messageOf('Discovered'),
    messageOf('Ready'),
  ];
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
    ...countsOf(tally),
    kept: tally.states.kept,
    paused: tally.states.paused,
    drifted: tally.drifted,
    message: messages.filter((text) => text !== '').join('; '),
    agentVersion: sessions.get(name)?.session.hello.version ?? null,
    kubernetesVersion: registration?.kubernetesVersion ?? null,
    problem,
    ...(refusal === undefined ? {} : { refusal: refusalView(refusal) }),
    suspended: suspensionView(suspension),
    ...((registration?.tagKey ?? signer) === signer ? {} : { olderTag: true }),
    ...given({ asleep }),
    ...(registration?.certificate === undefined ? {} : { certificate: certificateView(registration.certificate) }),
    conditions:
      suspension === undefined
        ? conditions
        : [...conditions, { type: 'Suspended', status: 'True', reason: 'SuspendedByPerson', message: stopped }],
  };
}

/** The view of the refusal of an agent. */
export function refusalView({ at, ...refusal }: AgentRefusal): AgentRefusalView {
  return { ...refusal, at: rfc3339(at) };
}

function certificateView({
  serial,
  issuedAt,
  expiresAt,
}: NonNullable<Registration['certificate']>): AgentCertificateView {
  return { serial, issuedAt: rfc3339(issuedAt), expiresAt: rfc3339(expiresAt) };
}

/** All registered clusters, in canonical order. */
export function clusterViews(deps: ClusterDeps): readonly ClusterView[] {
  return [...deps.engine.clusters.entries('')]
    .map(({ key }) => key)
    .sort(compareText)
    .flatMap((name) => clusterView(deps, name) ?? []);
}

/** The views of all objects that a cluster should hold or that fleetrelay owns in it, in canonical order. */
export function outputViews(engine: Engine, cluster: string): readonly OutputView[] {
  return [...engine.progress.entries(cluster)]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ key, value: { state, digest, health = null, drift, since, origins, reason, message } }) => ({
      cluster,
      object: displayKey(key as ObjectKey),
      state,
      // The digest of a Secret would allow guesses of its values.
      digest: isKeyOfSecret(key) ? null : digest,
      health,
      ...given({ drift }),
      ...(since === undefined ? {} : { since: rfc3339(since) }),
      origins,
      reason,
      message,
    }));
}

/**
 * The objects that one cluster should hold, in canonical order; without removals and keeps. `withSecrets`: for a process that
 * has the sources itself; an answer of a server never contains values of Secrets.
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
      const { value, origins, scope } = output;
      return [{ key, value: !withSecrets && isKeyOfSecret(key) ? null : value, origins, scope, message: '' }];
    });
}

function suspensionView(suspension: Suspension | undefined): SuspensionView | null {
  return suspension === undefined ? null : { ...suspension, at: rfc3339(suspension.at) };
}

/** The view of a source. */
export function sourceView(state: SourceState, suspensions: Suspensions): SourceView {
  const { source, condition, admitted, doubtful } = state;
  const suspension = suspensions.get('source', source.name);
  const stopped = suspension === undefined ? [] : [displaySuspension(suspension)];
  return {
    name: source.name,
    address: source.address,
    state: condition.state,
    revision: admitted?.revision ?? null,
    reason: condition.reason,
    refusedRevision: condition.refusedRevision ?? null,
    partial: isPartial(state),
    suspended: suspensionView(suspension),
    message: [...stopped, condition.message, whyDoubtful(doubtful)].filter((text) => text !== '').join('; '),
  };
}

/** Empty: no file is in doubt. */
export function whyDoubtful(doubtful: readonly string[]): string {
  if (doubtful.length === 0) return '';
  return `objects came from ${firstNames(doubtful, MOST_DOUBTFUL)}, which is not read any more: this source removes nothing until it is read again, removed, or listed in .fleetrelayignore`;
}

/** Files that a message names. */
const MOST_DOUBTFUL = 3;

/** The view of held removals. */
export function heldView(set: HeldSet | undefined): readonly HeldRemovalsView[] {
  if (set === undefined) return [];
  const removals = set.removals.map(({ cluster, key }) => ({ cluster, object: displayKey(key as ObjectKey) }));
  return [{ digest: set.digest, reason: set.reason, message: set.message, removals }];
}

/** The rows of a view that a domain offers. */
export function viewRows({ domains }: Engine, name: string, filter: ViewFilter): Answer<readonly JsonObject[]> {
  const views = new Map(domains.flatMap(({ report: { shows } }) => Object.entries(shows?.views ?? {})));
  const rows = views.get(name);
  if (rows !== undefined) return { ok: true, value: rows(filter) };
  const message = `there is no view ${quote(name)}; there are ${[...views.keys()].sort(compareText).join(', ')}`;
  return { ok: false, kind: 'notFound', message };
}
