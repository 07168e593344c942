import type { Derived, Graph } from '../../../../engine/collections/types.ts';
import { type JsonObject, textOf } from '../../../../model/text/json.ts';
import { bounded } from '../bounded-text.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type CheckReads, deriveCheck } from './check.ts';
import { type ProbeReads, probeFinding } from './probe.ts';

interface Reads extends CheckReads, ProbeReads {}

/** Derives whether the API server of each Shoot answers `/healthz`. Key: the Shoot's. */
export function deriveApiServerAvailable(graph: Graph, reads: Reads): Derived<ConditionFinding> {
  return deriveCheck(graph, reads, {
    type: 'APIServerAvailable',
    name: 'apiServerAvailable',
    reads: [reads.agents, reads.live, reads.kinds],
    good: {
      outcome: 'good',
      reason: 'HealthzRequestSucceeded',
      message: 'API server /healthz endpoint responded with success status code.',
    },
    whileDown: () => DOWN,
    rules: (read, { cluster }) => [probeFinding(read, cluster, reads, healthzFault)],
  });
}

const DOWN: ConditionFinding = {
  outcome: 'failed',
  reason: 'APIServerDown',
  message: 'Could not reach API server during client initialization.',
};

function healthzFault({ code, body, error, responseMillis }: JsonObject): ConditionFinding | undefined {
  if (code === 200) return undefined;
  const failed = (reason: string, message: string): ConditionFinding => ({ outcome: 'failed', reason, message });
  if (typeof code === 'number') {
    const answer = `API server /healthz endpoint check returned a non ok status code ${code}.`;
    return failed('HealthzRequestError', `${answer} (${bounded(textOf(body))})`);
  }
  const time = `[response_time:${typeof responseMillis === 'number' ? responseMillis : 0}ms]`;
  const why = bounded(textOf(error));
  return failed('HealthzRequestFailed', `Request to API server /healthz endpoint failed. ${time} (${why})`);
}
