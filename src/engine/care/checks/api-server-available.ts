import type { LiveObject } from '../../../model/agent.ts';
import { type JsonValue, objectOf, textOf } from '../../../model/json.ts';
import type { ObjectKey } from '../../../model/object-key.ts';
import type { Collection, Derived, Graph, Reader } from '../../collections/types.ts';
import type { EngineInputs } from '../../inputs.ts';
import type { BoundShoot } from '../binding.ts';
import type { CareSettingsRead } from '../settings.ts';
import type { Finding } from '../thresholds.ts';
import { type ClusterReads, kindObstacle, notChecked, obstacleOf } from '../visibility.ts';

/** The kind of the object that an agent reports of its API server. */
export const PROBE_KIND = 'internal.fleetrelay.dev/ApiServerProbe';
const PROBE_KEY = `${PROBE_KIND}//healthz` as ObjectKey;

/** The kind of the control plane's parts in a Seed. */
export const DEPLOYMENT_KIND = 'apps/Deployment';

interface Reads extends ClusterReads, Pick<EngineInputs, 'live' | 'kinds'> {
  readonly bindings: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
}

/** Derives whether the API server of each Shoot answers `/healthz`. Key: the Shoot's. */
export function deriveApiServerAvailable(graph: Graph, reads: Reads): Derived<Finding> {
  const { bindings, settings, clusters, agents, snapshots, live, kinds } = reads;
  return graph.derive<BoundShoot, Finding>({
    name: 'apiServerAvailable',
    from: bindings,
    reads: [settings, clusters, agents, snapshots, live, kinds],
    scope: ({ value: { cluster, seed } }) => (seed === undefined ? [cluster] : [cluster, seed]),
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored) return;
      emit('APIServerAvailable', key, findingOf(read, shoot, reads));
    },
  });
}

const SLEEPS: Finding = {
  outcome: 'good',
  reason: 'ConditionNotChecked',
  message: 'Shoot cluster has been hibernated.',
};
const DOWN: Finding = {
  ...{ outcome: 'failed', reason: 'APIServerDown' },
  message: 'Could not reach API server during client initialization.',
};
const ANSWERS: Finding = {
  ...{ outcome: 'good', reason: 'HealthzRequestSucceeded' },
  message: 'API server /healthz endpoint responded with success status code.',
};

function findingOf(read: Reader, shoot: BoundShoot, reads: Reads): Finding {
  const obstacle = obstacleOf(read, shoot, reads);
  if (obstacle !== undefined) return notChecked(obstacle);
  if (shoot.wantsHibernation) return SLEEPS;
  return controlPlaneFinding(read, shoot, reads) ?? probeFinding(read, shoot.cluster, reads);
}

/** Of a Shoot with a Seed whose API server does not run, or is not seen; undefined: it runs. */
function controlPlaneFinding(
  read: Reader,
  { seed, controlPlaneNamespace: namespace }: BoundShoot,
  { live, kinds, settings }: Reads,
): Finding | undefined {
  if (seed === undefined) return undefined;
  const { excludedNamespaces } = read.get(settings, '', '') as unknown as CareSettingsRead;
  if (excludedNamespaces.includes(namespace)) {
    return notChecked(`namespace ${namespace} of cluster ${seed} is left out of discovery by the FleetPolicy`);
  }
  const unseen = kindObstacle(read, kinds, seed, DEPLOYMENT_KIND);
  if (unseen !== undefined) return unseen;
  return isRunning(read.get(live, seed, `${DEPLOYMENT_KIND}/${namespace}/kube-apiserver`)) ? undefined : DOWN;
}

function isRunning(deployment: LiveObject | undefined): boolean {
  if (deployment === undefined) return false;
  const { metadata, spec } = deployment.value;
  const { replicas } = objectOf(spec);
  return objectOf(metadata).deletionTimestamp === undefined && typeof replicas === 'number' && replicas > 0;
}

function probeFinding(read: Reader, cluster: string, { live, kinds, agents }: Reads): Finding {
  const unseen = kindObstacle(read, kinds, cluster, PROBE_KIND);
  if (unseen !== undefined) return unseen;
  const probe = read.get(live, cluster, PROBE_KEY);
  if (probe === undefined) {
    // A directory has no API server to ask: reading it is the answer.
    if (read.get(agents, '', cluster)?.kindsAsWritten === true) return ANSWERS;
    return notChecked(`the agent of cluster ${cluster} reports no probe of its API server`);
  }
  const { code, body, error, responseMillis } = objectOf(probe.value.status);
  if (code === 200) return ANSWERS;
  const failed = (reason: string, message: string): Finding => ({ outcome: 'failed', reason, message });
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
