import { objectOf, textOf } from '../../../model/json.ts';
import type { ObjectKey } from '../../../model/object-key.ts';
import type { Derived, Graph, Reader } from '../../collections/types.ts';
import type { EngineInputs } from '../../inputs.ts';
import type { Finding } from '../thresholds.ts';
import { kindObstacle, notChecked } from '../visibility.ts';
import { type CheckReads, deriveCheck } from './check.ts';

/** The kind of the object that an agent reports of its API server. */
export const PROBE_KIND = 'internal.fleetrelay.dev/ApiServerProbe';
const PROBE_KEY = `${PROBE_KIND}//healthz` as ObjectKey;

interface Reads extends CheckReads, Pick<EngineInputs, 'live' | 'kinds' | 'agents'> {}

/** Derives whether the API server of each Shoot answers `/healthz`. Key: the Shoot's. */
export function deriveApiServerAvailable(graph: Graph, reads: Reads): Derived<Finding> {
  return deriveCheck(graph, reads, {
    type: 'APIServerAvailable',
    name: 'apiServerAvailable',
    reads: [reads.agents, reads.live, reads.kinds],
    good: ANSWERS,
    whileDown: () => DOWN,
    rules: (read, { cluster }) => [probeFinding(read, cluster, reads)],
  });
}

const DOWN: Finding = {
  ...{ outcome: 'failed', reason: 'APIServerDown' },
  message: 'Could not reach API server during client initialization.',
};
const ANSWERS: Finding = {
  ...{ outcome: 'good', reason: 'HealthzRequestSucceeded' },
  message: 'API server /healthz endpoint responded with success status code.',
};

function probeFinding(read: Reader, cluster: string, { live, kinds, agents }: Reads): Finding | undefined {
  const unseen = kindObstacle(read, kinds, cluster, PROBE_KIND);
  if (unseen !== undefined) return unseen;
  const probe = read.get(live, cluster, PROBE_KEY);
  if (probe === undefined) {
    // A directory has no API server to ask: reading it is the answer.
    if (read.get(agents, '', cluster)?.kindsAsWritten === true) return undefined;
    return notChecked(`the agent of cluster ${cluster} reports no probe of its API server`);
  }
  const { code, body, error, responseMillis } = objectOf(probe.value.status);
  if (code === 200) return undefined;
  const cause = { cluster, key: PROBE_KEY };
  const failed = (reason: string, message: string): Finding => ({ outcome: 'failed', reason, message, cause });
  if (typeof code === 'number') {
    const answer = `API server /healthz endpoint check returned a non ok status code ${code}.`;
    return failed('HealthzRequestError', `${answer} (${bounded(textOf(body))})`);
  }
  const time = `[response_time:${typeof responseMillis === 'number' ? responseMillis : 0}ms]`;
  const why = bounded(textOf(error));
  return failed('HealthzRequestFailed', `Request to API server /healthz endpoint failed. ${time} (${why})`);
}

/** A message has at most this much of what an API server said. */
const MOST_SAID = 2_048;

function bounded(text: string): string {
  return text.length <= MOST_SAID ? text : `${text.slice(0, MOST_SAID)}... cut, ${text.length} characters`;
}
