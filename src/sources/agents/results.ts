import type { ObjectResult } from '../../model/agent/agent.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { createRateLimit, type Rate } from '../../model/limits/rate-limit.ts';
import type { AgentListener } from '../../relay/session.ts';
import type { History } from '../../runtime/history/history.ts';
import type { ServerParts } from '../../runtime/parts.ts';

interface ResultDeps extends Pick<ServerParts, 'engine' | 'ledger' | 'loop' | 'clock' | 'log'> {
  readonly history: Pick<History, 'results'>;
}

/** Log lines about one cluster. */
const UNKNOWN_LOGGED: Rate = { burst: 1, perSecond: 1 / 60 };

/**
 * Takes the results of objects that the cluster was sent, which are in the ledger from then on. Others change nothing and are
 * not kept: an agent could report any number of them.
 */
export function createResultTaker(deps: ResultDeps): AgentListener['results'] {
  const { engine, loop, clock, log } = deps;
  const logsInMs = createRateLimit(clock.monotonic, UNKNOWN_LOGGED);

  return (cluster, reported) => {
    const isSent = ({ key }: ObjectResult): boolean => engine.inputs.ledger.latest(cluster, key) !== undefined;
    const known = reported.filter(isSent);
    const unknown = reported.length - known.length;
    if (unknown > 0 && logsInMs(cluster) === 0) {
      log.warn('an agent reports results of objects that it was never sent; they are dropped', { cluster, unknown });
    }
    if (known.length === 0) return unknown;
    deps.history.results(cluster, known);
    loop.transact(() => {
      // A cluster without registration was deregistered: its session is about to end.
      if (deps.ledger.registration(cluster) === undefined) return;
      for (const result of known) takeResult(deps, cluster, result);
    });
    return unknown;
  };
}

/** Stages the result of an object; a removed object leaves the ledger. */
function takeResult(deps: ResultDeps, cluster: ClusterName, result: ObjectResult): void {
  const { engine, ledger } = deps;
  if (result.state !== 'removed') {
    ledger.setResult(cluster, result.key, withSince(deps, cluster, result));
    return;
  }
  ledger.setResult(cluster, result.key, null);
  const entry = engine.inputs.ledger.latest(cluster, result.key);
  if (entry?.phase === 'removing') ledger.setEntry(cluster, result.key, null);
}

/**
 * Adds since when the object has had this bad news. The store keeps the time with the result, so that a restart does not forget how
 * long a task has failed. A lost store makes the time later, never earlier.
 */
function withSince(
  { engine, clock }: Pick<ResultDeps, 'engine' | 'clock'>,
  cluster: ClusterName,
  result: ObjectResult,
): ObjectResult {
  const isDrift = result.state === 'applied' && result.drift !== undefined;
  if (result.state === 'applied' && !isDrift) return result;
  const before = engine.inputs.results.latest(cluster, result.key);
  const isSameNews =
    before !== undefined &&
    (before.state === 'removing') === (result.state === 'removing') &&
    (before.drift !== undefined) === isDrift;
  const goesOn = isSameNews && before.digest === result.digest;
  return { ...result, since: (goesOn ? before.since : undefined) ?? clock.now() };
}
