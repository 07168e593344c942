import type { FleetName, SourceName } from '../../model/fleet/ids.ts';
import type { PullRequestsConfig } from '../../model/fleet/relay-config.ts';
import { backOffMs } from '../../model/limits/back-off.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { CommitStatus, PullRequest, ReviewFailure, ReviewHost, ReviewOutcome } from '../../ports/review-host.ts';

/** What merging a ref would do, or why that cannot be said. `unavailable`: asking again later may help. */
export type PlanOutcome =
  | { readonly ok: true; readonly commit: string; readonly summary: string; readonly markdown: string }
  | { readonly ok: false; readonly unavailable: boolean; readonly message: string };

export interface PullRequestPlanDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly host: ReviewHost;
  readonly plan: (source: SourceName, ref: string, signal: AbortSignal) => Promise<PlanOutcome>;
  /** Resolves when the next plan may begin, or the signal aborts. */
  readonly mayBegin: (signal: AbortSignal) => Promise<void>;
}

export interface PullRequestPlanOptions extends Pick<PullRequestsConfig, 'host' | 'comment' | 'status' | 'forks'> {
  readonly fleet: FleetName;
  readonly source: SourceName;
  /** The branch of the source. */
  readonly branch: string;
}

/**
 * What became of a pull request. `planned`: its plan is shown. `refused`: it cannot be planned, which is shown. `failed`: the host
 * could not be asked or told. `skipped`: it is closed, for another branch, or of a fork. `superseded`: the signal aborted.
 */
export type PullRequestOutcome = (typeof PULL_REQUEST_OUTCOMES)[number];
export const PULL_REQUEST_OUTCOMES = ['planned', 'refused', 'failed', 'skipped', 'superseded'] as const;

/** Ten minutes, if the host names no time. */
const ATTEMPTS = 8;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 900_000;

/** Makes what plans one pull request as it is now, and shows the plan at its host. It never rejects. */
export function createPullRequestPlan(deps: PullRequestPlanDeps, options: PullRequestPlanOptions) {
  const { log, host } = deps;
  const { source } = options;
  return async (number: number, signal: AbortSignal): Promise<PullRequestOutcome> => {
    const data = { source, pullRequest: number };
    try {
      const read = await patiently(deps.clock, signal, () => host.read(number, signal), waitOf);
      if (signal.aborted) return 'superseded';
      if (read.type === 'failed') return logged(log, data, read);
      const why = notPlanned(read.value, options);
      if (why !== undefined) {
        log.info('a pull request is not planned', { ...data, why });
        return 'skipped';
      }
      await deps.mayBegin(signal);
      if (signal.aborted) return 'superseded';
      return await planAndShow(deps, options, number, read.value, signal);
    } catch (error) {
      log.error('a pull request could not be planned', { ...data, error });
      return 'failed';
    }
  };
}

/** Why a pull request is not planned; undefined: it is. */
function notPlanned({ open, base, fork }: PullRequest, { branch, forks }: PullRequestPlanOptions): string | undefined {
  if (!open) return 'it is closed';
  if (base !== branch) return 'it is for another branch';
  return fork && !forks ? 'it comes from another repository' : undefined;
}

async function planAndShow(
  deps: PullRequestPlanDeps,
  options: PullRequestPlanOptions,
  number: number,
  { commit, branch, fork }: PullRequest,
  signal: AbortSignal,
): Promise<PullRequestOutcome> {
  const { log, clock } = deps;
  const { source, host } = options;
  const ref = fork ? refOf(host, number) : `refs/heads/${branch}`;
  const show = createShow(deps, options, number, ref, signal);
  await show.status(commit, 'pending', 'the plan is being made');
  const planOnce = () => planned(deps, source, ref, signal);
  const plan = await patiently(clock, signal, planOnce, (outcome) =>
    !outcome.ok && outcome.unavailable ? undefined : NEVER,
  );
  if (signal.aborted) return 'superseded';
  if (!plan.ok) {
    log.warn('a pull request cannot be planned', { source, pullRequest: number, reason: plan.message });
    await show.comment(refusalText(commit, plan.message));
    await show.status(commit, 'error', plan.message);
    return show.failed() ? 'failed' : 'refused';
  }
  // The branch has moved since it was read: that commit gets no plan of its own.
  if (plan.commit !== commit) await show.status(commit, 'error', `not planned: the branch is at ${plan.commit} now`);
  const failure = await show.comment(plan.markdown);
  if (failure === undefined) await show.status(plan.commit, 'success', plan.summary);
  else await show.status(plan.commit, 'error', `the plan cannot be written into a comment: ${failure.message}`);
  if (show.failed()) return signal.aborted ? 'superseded' : 'failed';
  log.info('a pull request was planned', { source, pullRequest: number, commit: plan.commit });
  return 'planned';
}

/** The ref under which the host keeps the commits of a pull request of a fork. */
function refOf(host: PullRequestPlanOptions['host'], number: number): string {
  return host === 'gitlab' ? `refs/merge-requests/${number}/head` : `refs/pull/${number}/head`;
}

async function planned(
  { plan, log }: PullRequestPlanDeps,
  source: SourceName,
  ref: string,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  try {
    return await plan(source, ref, signal);
  } catch (error) {
    if (!signal.aborted) log.error('the plan of a pull request has failed', { source, ref, error });
    return { ok: false, unavailable: false, message: 'the plan has failed; the log of the server says why' };
  }
}

/** Shows what is configured to be shown. Failures of the host are logged and remembered. */
function createShow(
  { clock, log, host }: PullRequestPlanDeps,
  { fleet, source, comment, status }: PullRequestPlanOptions,
  number: number,
  ref: string,
  signal: AbortSignal,
) {
  let hasFailed = false;
  const told = async (call: () => Promise<ReviewOutcome>): Promise<ReviewFailure | undefined> => {
    const outcome = await patiently(clock, signal, call, waitOf);
    if (outcome.type === 'done' || signal.aborted) return undefined;
    hasFailed = true;
    logged(log, { source, pullRequest: number }, outcome);
    return outcome;
  };
  return {
    failed: (): boolean => hasFailed,
    status: async (commit: string, state: CommitStatus['state'], description: string): Promise<void> => {
      const context = `fleetrelay/${fleet}/${source}`;
      if (status) await told(() => host.setStatus({ commit, ref, state, context, description }, signal));
    },
    comment: async (body: string): Promise<ReviewFailure | undefined> => {
      const marker = `<!-- fleetrelay:${fleet}/${source} -->`;
      return comment ? told(() => host.comment({ pullRequest: number, marker, body }, signal)) : undefined;
    },
  };
}

function logged(
  log: Log,
  data: { readonly source: string; readonly pullRequest: number },
  { reason, message }: ReviewFailure,
): 'failed' {
  log.warn('the host of the pull requests could not be asked or told', { ...data, reason, error: message });
  return 'failed';
}

/** The message may quote names of files, so it stands in a code block that nothing in it can end. */
function refusalText(commit: string, message: string): string {
  const ticks = Math.max(2, ...(message.match(/`+/g) ?? []).map(({ length }) => length)) + 1;
  const fence = '`'.repeat(ticks);
  return `**fleetrelay cannot plan ${commit.slice(0, 12)}.**\n\n${fence}\n${message}\n${fence}\n`;
}

/** The wait of an outcome that another attempt cannot change. */
const NEVER = 'never';

/** The seconds until the next attempt; undefined: by back-off. */
function waitOf(outcome: ReviewOutcome<unknown>): number | undefined | typeof NEVER {
  if (outcome.type === 'done') return NEVER;
  return outcome.reason === 'RateLimited' || outcome.reason === 'Unreachable' ? outcome.retryAfterSeconds : NEVER;
}

/** Repeats a call while its outcome says that another attempt may help. */
async function patiently<Outcome>(
  clock: Clock,
  signal: AbortSignal,
  call: () => Promise<Outcome>,
  wait: (outcome: Outcome) => number | undefined | typeof NEVER,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await call();
    const seconds = wait(outcome);
    if (seconds === NEVER || attempt === ATTEMPTS || signal.aborted) return outcome;
    const named = seconds === undefined ? undefined : Math.min(seconds * 1_000, LONGEST_WAIT_MS);
    await clock.sleep(named ?? backOffMs(attempt - 1, FIRST_WAIT_MS, LONGEST_WAIT_MS), signal);
  }
}
