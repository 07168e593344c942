import type { Act, Refusal } from '../../api/answer.ts';
import type { DomainApi } from '../../api/domain-api.ts';
import type { FleetView, ServerApi, SourceView, StatusBranchView } from '../../api/server-api.ts';
import { fleetSummary, safeModeStatus } from '../../engine/status/rollout.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { History } from '../history/history.ts';
import type { Planner } from '../plans/planner.ts';
import type { Capture } from '../recording/capture.ts';
import type { KeyedHash } from '../recording/mask.ts';
import type { RefusedAgents } from '../refused-agents.ts';
import type { SourceState } from '../source-table.ts';
import { type ActDeps, createActs } from './acts.ts';
import { explain } from './explain.ts';
import { historyOf } from './history.ts';
import { impactOfFile } from './impact.ts';
import type { Locator } from './locator.ts';
import { clusterViews, desiredViews, heldView, outputViews, refusalView, sourceView, viewRows } from './views.ts';
import { whyNotIn } from './why-not.ts';

interface ServerApiDeps extends Omit<ActDeps, 'fleet'>, DomainApi {
  readonly refusedAgents: Pick<RefusedAgents, 'of' | 'undeclared'>;
  readonly locator: Locator;
  readonly planner: Pick<Planner, 'plan'>;
  readonly capture: Pick<Capture, 'recording'>;
  /** Makes a keyed hash under a fresh key. */
  readonly keyedHash: () => KeyedHash;
  readonly history: Pick<History, 'read'>;
  /** The engine's latest diagnostics with lines. */
  readonly engineDiagnostics: () => readonly Diagnostic[];
  readonly fleet: string;
  readonly version: string;
  readonly ready: () => boolean;
  /** Undefined: this server leads. Otherwise the address of the leader, if it is known. */
  readonly leadsElsewhere: () => { readonly leader: string | null } | undefined;
  readonly statusBranch: () => StatusBranchView | null;
}

/**
 * Answers questions, and does acts (`acts.ts`) when all earlier changes are committed. An answer to a question contains them too,
 * unless their commit takes longer than a slice: then it shows the state before that commit.
 */
export function createServerApi(deps: ServerApiDeps): ServerApi {
  const { engine, heldSets, sources } = deps;
  const diagnostics = (): readonly Diagnostic[] => [...sources.diagnostics(), ...deps.engineDiagnostics()];
  const viewOf = (state: SourceState): SourceView => sourceView(state, deps.suspensions);
  const held = (): FleetView['heldRemovals'] => heldView(heldSets.current());
  const upToDate =
    <Args extends readonly unknown[], Answered>(answer: (...args: Args) => Answered) =>
    (...args: Args): Answered => {
      void deps.loop.settled();
      return answer(...args);
    };
  const asLeader =
    <Args extends readonly unknown[], View>(act: (...args: Args) => Act<View> | Promise<Act<View>>) =>
    async (...args: Args): Promise<Act<View>> => {
      await deps.loop.settled();
      return notLeader(deps) ?? act(...args);
    };
  const acts = createActs(deps);
  const isKnown = (cluster: string): boolean => engine.clusters.get('', cluster) !== undefined;

  return {
    status: upToDate(() => ({
      fleet: deps.fleet,
      version: deps.version,
      ready: deps.ready(),
      summary: fleetSummary(engine),
      sources: sources.all().map(viewOf),
      clusters: clusterViews(deps),
      ...undeclaredAgents(deps),
      heldRemovals: held(),
      safeMode: safeModeStatus(engine) ?? null,
      diagnostics: diagnostics(),
      statusBranch: deps.statusBranch(),
    })),
    clusters: upToDate(() => clusterViews(deps)),
    outputs: upToDate((cluster) => {
      if (cluster !== undefined && !isKnown(cluster)) return undefined;
      const names = cluster === undefined ? clusterViews(deps).map(({ name }) => name) : [cluster];
      return names.flatMap((name) => outputViews(engine, name));
    }),
    desired: upToDate((cluster) =>
      isKnown(cluster) ? desiredViews(engine, cluster, { withSecrets: false }) : undefined,
    ),
    sources: upToDate(() => sources.all().map(viewOf)),
    elsewhere: () => notLeader(deps),
    removals: upToDate(held),
    diagnostics,
    view: upToDate((name, filter) => viewRows(engine, name, filter)),
    plan: async (source, ref, signal) => notLeader(deps) ?? deps.planner.plan(source, ref, signal),
    recording: () => deps.capture.recording(deps.keyedHash()),
    explain: upToDate((question) => explain(deps, question)),
    whyNot: upToDate((question) => whyNotIn(deps, question)),
    impact: upToDate((question) => impactOfFile(deps, question)),
    history: upToDate((question) => historyOf(deps, question)),
    suspendCluster: asLeader(acts.suspendCluster),
    resumeCluster: asLeader(acts.resumeCluster),
    suspendSource: asLeader(acts.suspendSource),
    resumeSource: asLeader(acts.resumeSource),
    syncSources: asLeader(acts.syncSources),
    approve: asLeader(acts.approve),
    accept: asLeader(acts.accept),
    replaceCluster: asLeader(acts.replaceCluster),
    giveBackCluster: asLeader(acts.giveBackCluster),
    retryCluster: asLeader(acts.retryCluster),
    questions: deps.questions.map((question) => ({ ...question, answer: upToDate(question.answer) })),
    acts: deps.acts.map((act) => ({ ...act, run: act.isTrust === true ? upToDate(act.run) : asLeader(act.run) })),
  };
}

function undeclaredAgents({ refusedAgents }: ServerApiDeps): Pick<FleetView, 'undeclaredAgents'> {
  const undeclared = refusedAgents.undeclared().flatMap((cluster) => {
    const refusal = refusedAgents.of(cluster);
    return refusal === undefined ? [] : [[cluster, refusalView(refusal)] as const];
  });
  return undeclared.length === 0 ? {} : { undeclaredAgents: Object.fromEntries(undeclared) };
}

/** The refusal of a command that only the leader may execute; undefined: this replica leads. */
function notLeader({ leadsElsewhere }: ServerApiDeps): Refusal | undefined {
  const elsewhere = leadsElsewhere();
  if (elsewhere === undefined) return undefined;
  const where = elsewhere.leader === null ? 'no other is known to' : `ask ${elsewhere.leader}`;
  return { ok: false, kind: 'notLeader', message: `this replica does not lead; ${where}`, leader: elsewhere.leader };
}
