import type { Act, Answer } from '../../api/answer.ts';
import type { ApprovalView, ClusterView, RetryView, SourceView } from '../../api/server-api.ts';
import { findObject } from '../../engine/explain/object-name.ts';
import type { Engine } from '../../engine/graph.ts';
import { parseObjectName } from '../../model/fleet/explain-query.ts';
import { quote } from '../../model/fleet/ids.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { given } from '../../model/values/given.ts';
import { type Attempts, whyNotTried } from '../attempts.ts';
import type { ServerParts } from '../parts.ts';
import type { RefusedAgents } from '../refused-agents.ts';
import { countsApproval, type HeldSets } from '../removals/approvals.ts';
import type { Suspension, SuspensionKind } from '../suspensions.ts';
import { syncSources } from './sync-sources.ts';
import { clusterView, sourceView } from './views.ts';

export interface ActDeps extends Omit<ServerParts, 'fleet'> {
  readonly heldSets: HeldSets;
  readonly attempts: Pick<Attempts, 'ask' | 'receipt'>;
  readonly refusedAgents: Pick<RefusedAgents, 'of'>;
  /** Identifies the key that makes tags now. */
  readonly signer: string;
}

/**
 * What people do by the API, at the server that leads. Each act says what it wants to be so: done again, also after a restart, it
 * changes nothing more.
 */
export function createActs(deps: ActDeps) {
  const ofClusters = suspensionActs(deps, 'cluster', (name) => clusterView(deps, name));
  const ofSources = suspensionActs(deps, 'source', (name) => {
    const state = deps.sources.get(name);
    return state && sourceView(state, deps.suspensions);
  });
  return {
    suspendCluster: ofClusters.suspend,
    resumeCluster: ofClusters.resume,
    suspendSource: ofSources.suspend,
    resumeSource: ofSources.resume,
    syncSources: (name: string | undefined, by: string) => syncSources(deps, name, by),
    approve: (digest: string, by: string) => approve(deps, digest, by),
    accept: (name: string, revision: string, by: string) => accept(deps, name, revision, by),
    replaceCluster: (cluster: string, by: string) => setReleased(deps, cluster, true, by),
    giveBackCluster: (cluster: string, by: string) => setReleased(deps, cluster, false, by),
    retryCluster: (cluster: string, object: string | undefined, by: string) => retryCluster(deps, cluster, object, by),
  };
}

function suspensionActs<View>(
  { suspensions, loop, clock, log }: ActDeps,
  kind: SuspensionKind,
  viewOf: (name: string) => View | undefined,
) {
  const change = async (name: string, by: string, suspension: Suspension | null): Promise<Act<View>> => {
    const unknown = { ok: false, kind: 'notFound', message: `there is no ${kind} ${quote(name)}` } as const;
    if (viewOf(name) === undefined) return unknown;
    const isOver = suspension === null && suspensions.get(kind, name) === undefined;
    // A person has resumed it a moment ago: this one waits for the same record.
    const before = isOver ? suspensions.unwritten(kind, name) : undefined;
    if (isOver && before === undefined) {
      return { ok: false, kind: 'conflict', message: `the ${kind} ${name} is not suspended` };
    }
    const receipt = before ?? suspensions.set(kind, name, suspension);
    if (before === undefined)
      log.info(suspension === null ? 'resumed' : 'suspended', { [kind]: name, by, reason: suspension?.reason });
    await loop.settled();
    const value = viewOf(name);
    return value === undefined ? unknown : { ok: true, value, receipt };
  };
  return {
    suspend: (name: string, by: string, reason: string) => change(name, by, { by, at: clock.now(), reason }),
    resume: (name: string, by: string) => change(name, by, null),
  };
}

async function approve({ engine, heldSets, log }: ActDeps, digest: string, by: string): Promise<Act<ApprovalView>> {
  if (!countsApproval(engine, 'api')) {
    const message =
      'the RelayConfig lets no command approve removals (bounds.approvals): commit a RemovalApproval instead';
    return { ok: false, kind: 'conflict', message };
  }
  const approved = await heldSets.approve(digest, by);
  if (approved !== undefined) {
    const { released, expiresAt, receipt } = approved;
    log.info('removals are approved', { digest, by, released: released.length });
    return { ok: true, value: { digest, released: released.length, expiresAt: rfc3339(expiresAt) }, receipt };
  }
  const now = heldSets.current();
  if (now === undefined) return { ok: false, kind: 'notFound', message: 'no removal is held' };
  const message = `no held removals have the digest ${digest.slice(0, 80)}; what is held now is ${now.digest}`;
  return { ok: false, kind: 'conflict', message };
}

async function retryCluster(
  { engine, attempts, suspensions, loop }: ActDeps,
  cluster: string,
  object: string | undefined,
  by: string,
): Promise<Act<RetryView>> {
  if (engine.clusters.get('', cluster) === undefined)
    return { ok: false, kind: 'notFound', message: `there is no cluster ${quote(cluster)}` };
  const found = object === undefined ? undefined : objectIn(engine, cluster, object);
  if (found?.ok === false) return found;
  const asked = attempts.ask(cluster, found?.value, by);
  if (asked.length === 0) {
    const what = found === undefined ? `nothing of cluster ${cluster}` : `${displayKey(found.value)}`;
    const message = `${what} has failed there: what is not applied yet is under way, held or not declared; see fleetrelay get outputs ${cluster}`;
    return { ok: false, kind: 'conflict', message };
  }
  await loop.settled();
  const tried: string[] = [];
  const waiting: RetryView['waiting'][number][] = [];
  for (const key of asked) {
    const why = whyNotTried(engine, cluster, key);
    if (why === undefined) tried.push(displayKey(key));
    else waiting.push({ object: displayKey(key), why });
  }
  const waits = tried.length === 0 ? undefined : whyClusterWaits({ engine, suspensions }, cluster);
  const value = { cluster, objects: tried, waiting, ...given({ waits }) };
  return { ok: true, value, receipt: attempts.receipt(cluster) };
}

/** Why another attempt of any object of the cluster waits; undefined: it does not. */
function whyClusterWaits(
  { engine, suspensions }: Pick<ActDeps, 'engine' | 'suspensions'>,
  cluster: string,
): string | undefined {
  if (suspensions.get('cluster', cluster) !== undefined)
    return 'the cluster is suspended: they are tried after it is resumed';
  const agent = engine.inputs.agents.get('', cluster);
  if (agent?.connected !== true) return 'its agent is not connected: they are tried when it is';
  return agent.takesAttempts === true
    ? undefined
    : 'its agent is older than this server, and tries them when their back-off ends';
}

/** The object of a cluster that a person names. */
function objectIn(engine: Engine, cluster: string, text: string): Answer<ObjectKey> {
  const name = parseObjectName(text);
  if (!name.ok) return { ok: false, kind: 'invalid', message: `${quote(text)} ${name.problem}` };
  const found = findObject(engine, cluster, name.value);
  if (found.type === 'found') return { ok: true, value: found.key };
  if (found.type === 'ambiguous')
    return {
      ok: false,
      kind: 'conflict',
      message: `${quote(text)} may be ${found.names.join(' or ')}: name one of them`,
    };
  return { ok: false, kind: 'notFound', message: `cluster ${cluster} has no object ${quote(text)}` };
}

/** Admits a refused revision of a source. */
function accept(
  { sources, suspensions, replica, log }: ActDeps,
  name: string,
  revision: string,
  by: string,
): Act<SourceView> {
  const state = sources.get(name);
  if (state === undefined) return { ok: false, kind: 'notFound', message: `there is no source ${name}` };
  const { reason, refusedRevision: waits, message: why, revision: observed } = state.condition;
  if (suspensions.get('source', name) !== undefined) {
    const message = `source ${name} is suspended, and admits nothing: fleetrelay source resume ${name}, then accept it`;
    return { ok: false, kind: 'conflict', message };
  }
  const isNew = state.source.accept(revision);
  if (!isNew && (waits !== undefined || observed !== revision)) {
    const isTooLarge = reason === 'TooLarge' && waits === revision;
    const message = isTooLarge
      ? `a revision above a limit cannot be accepted: ${why}`
      : waits === undefined
        ? `source ${name} has no refused revision`
        : `what waits in source ${name} is ${waits}`;
    return { ok: false, kind: 'conflict', message };
  }
  if (isNew) log.info('a refused revision is accepted', { source: name, revision, by });
  const receipt = replica.accepted(name, revision);
  return { ok: true, value: sourceView(sources.get(name) ?? state, suspensions), receipt };
}

/**
 * Releases a name for a cluster with another id, or gives it back to the former cluster. Nothing in any cluster changes: the former
 * cluster keeps its objects, and its agent is refused. The registration stays, because a missing one counts as lost.
 */
function setReleased(deps: ActDeps, cluster: string, released: boolean, by: string): Act<ClusterView> {
  const { ledger, sessions, clock, log } = deps;
  const registration = ledger.registration(cluster);
  const view = clusterView(deps, cluster);
  if (registration === undefined || view === undefined) {
    return { ok: false, kind: 'notFound', message: `no agent of a cluster ${cluster} has ever connected` };
  }
  if (registration.released !== released) {
    // This takes the cluster from a replica that serves it, which then cannot record the disconnect.
    const gone = registration.connected ? { connected: false, since: clock.now() } : {};
    ledger.setRegistration(cluster, { ...registration, ...gone, released });
    sessions.get(cluster)?.session.close('refused', 'ClusterReplaced', 'the name was released for another cluster');
    const what = released ? 'a cluster name is released' : 'a cluster name is given back';
    log.info(what, { cluster, id: registration.id, by });
  }
  return { ok: true, value: { ...view, released }, receipt: ledger.registrationReceipt(cluster) };
}
