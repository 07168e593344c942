import { readFile } from 'node:fs/promises';
import { createReviewHost } from '../../adapters/review/review-host.ts';
import type { ServerApi } from '../../api/server-api.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type { PullRequestsConfig, RelayConfig } from '../../model/fleet/relay-config.ts';
import { createRateLimit } from '../../model/limits/rate-limit.ts';
import { errorText } from '../../model/text/messages.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import type { ServerBus } from '../../runtime/events.ts';
import {
  createPullRequestPlan,
  type PlanOutcome,
  PULL_REQUEST_OUTCOMES,
  type PullRequestOutcome,
} from '../../runtime/pull-requests/pull-request-plan.ts';
import { createPullRequestQueue } from '../../runtime/pull-requests/pull-request-queue.ts';
import type { HookPullRequests } from '../../server/hook-routes.ts';
import type { PullRequestFigure } from '../../server/metrics.ts';
import { hookTargets, type ProcessDeps, readSecret } from './sources.ts';

/** How often plans of one source begin. */
const RATE = { burst: 10, perSecond: 1 / 20 };

interface PullRequestDeps extends ProcessDeps {
  readonly store: SnapshotStore;
  readonly server: {
    readonly api: Pick<ServerApi, 'plan'>;
    readonly events: Pick<ServerBus, 'on'>;
    notReady(): readonly string[];
  };
}

interface ConfiguredRequests extends PullRequestsConfig {
  readonly source: SourceName;
  readonly branch: string;
}

/** Whether refs of forks of a source may be planned. */
export function allowsForksOf({ sources }: RelayConfig): (source: string) => boolean {
  const allowing = sources.filter((source) => source.type === 'git' && source.pullRequests?.forks === true);
  const names = new Set<string>(allowing.map(({ name }) => name));
  return (source) => names.has(source);
}

/** Opens what hooks trigger: looks at sources, and plans of pull requests. Rejects if a secret of a hook cannot be read. */
export async function openHooks(config: RelayConfig, sources: readonly Source[], deps: PullRequestDeps) {
  const pullRequests = openPullRequests(config, deps);
  return { pullRequests, targets: await hookTargets(config, sources, deps.env, pullRequests.hooks) };
}

/** What plans the pull requests of the configured sources. */
function openPullRequests(config: RelayConfig, deps: PullRequestDeps) {
  const { clock, log } = deps;
  const configured = config.sources.flatMap((source): readonly ConfiguredRequests[] =>
    source.type !== 'git' || source.pullRequests === undefined || source.branch === undefined
      ? []
      : [{ ...source.pullRequests, source: source.name, branch: source.branch }],
  );
  const counts = new Map<string, number>();
  const rate = createRateLimit(clock.monotonic, RATE);
  const plans = new Map(
    configured.map((options) => {
      const mayBegin = async (signal: AbortSignal): Promise<void> => {
        for (let wait = rate(options.source); wait > 0 && !signal.aborted; wait = rate(options.source))
          await clock.sleep(wait, signal);
      };
      const plan = async (source: SourceName, ref: string, signal: AbortSignal) =>
        outcomeOf(await deps.server.api.plan(source, ref, signal));
      const host = openHost(options, deps);
      return [
        options.source,
        createPullRequestPlan({ clock, log, host, plan, mayBegin }, { ...options, fleet: config.fleet }),
      ];
    }),
  );
  const work = async (source: SourceName, pullRequest: number, signal: AbortSignal): Promise<void> => {
    const outcome = await plans.get(source)?.(pullRequest, signal);
    const counted = `${source} ${outcome}`;
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
  };
  // Before every source was read there is no revision to compare with.
  const ready = (): boolean => deps.server.notReady().length === 0;
  const queue = createPullRequestQueue({ ...deps, work, ready }, [...plans.keys()]);
  deps.server.events.on('leads', queue.lead);
  const countOf = (source: SourceName, outcome: PullRequestOutcome): number => counts.get(`${source} ${outcome}`) ?? 0;
  return {
    stop: queue.stop,
    /** What hooks may tell of, by source. */
    hooks: new Map(
      configured.map(({ source, host, repository, branch }): [SourceName, HookPullRequests] => [
        source,
        { host, repository, branch, request: (pullRequest) => queue.request(source, pullRequest) },
      ]),
    ),
    figures: (): readonly PullRequestFigure[] =>
      configured.flatMap(({ source }) =>
        PULL_REQUEST_OUTCOMES.map((outcome) => ({ source, outcome, count: countOf(source, outcome) })),
      ),
  };
}

function openHost(
  { source, host, apiUrl, repository, token, caFile }: ConfiguredRequests,
  deps: PullRequestDeps,
): ReviewHost {
  if (apiUrl.startsWith('http:')) deps.log.warn('the token for pull requests travels unencrypted', { source, apiUrl });
  const ca = async (): Promise<string | undefined> => {
    if (caFile === undefined) return undefined;
    return readFile(caFile, 'utf8').catch((cause: unknown) => {
      throw new Error(`the file ${caFile} of pullRequests cannot be read: ${errorText(cause)}`, { cause });
    });
  };
  const readToken = () => readSecret(token, deps.env, `token for pull requests of ${source}`);
  return createReviewHost(
    host,
    { clock: deps.clock, environment: deps.env, token: readToken, ca },
    { apiUrl, repository },
  );
}

function outcomeOf(answer: Awaited<ReturnType<ServerApi['plan']>>): PlanOutcome {
  if (answer.ok) return { ok: true, ...answer.value };
  // A server that does not lead any more is told so in a moment, and its work is aborted.
  const unavailable = answer.kind === 'unavailable' || answer.kind === 'notLeader';
  return { ok: false, unavailable, message: answer.message };
}
