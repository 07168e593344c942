import type { Engine } from '../../engine/graph.ts';
import type { AgentHello } from '../../model/agent.ts';
import type { FleetName } from '../../model/ids.ts';
import type { Admission } from '../../relay/session.ts';
import type { Ledger } from '../../runtime/ledger/ledger.ts';
import type { Sessions } from '../../runtime/sessions.ts';

/** Judges who may speak for a cluster; asked at every stream's hello, after the token was found right. */
export function judgeHello(
  hello: AgentHello,
  deps: {
    readonly fleet: FleetName;
    readonly engine: Engine;
    readonly ledger: Ledger;
    readonly sessions: Sessions;
    readonly mayStart: () => boolean;
    /** Every configured source has been read and is whole: then an unknown name is really unknown. */
    readonly knowsAll: () => boolean;
  },
): Admission {
  const { cluster } = hello;
  if (hello.fleet !== undefined && hello.fleet !== deps.fleet) {
    return {
      type: 'refused',
      reason: 'OtherFleet',
      message: `what is in cluster ${cluster} belongs to the fleet ${hello.fleet}, this server serves the fleet ${deps.fleet}; nothing is changed`,
    };
  }
  if (!deps.mayStart()) {
    return { type: 'retry', reason: 'ServerStarting', message: 'the server has not read its sources yet' };
  }
  if (deps.engine.clusters.get('', cluster) === undefined) {
    return deps.knowsAll()
      ? {
          type: 'refused',
          reason: 'UnknownCluster',
          message: `no KubernetesCluster ${cluster} is declared in any source: add one to let its agent in`,
        }
      : {
          type: 'retry',
          reason: 'ClusterNotReadable',
          message: `no KubernetesCluster ${cluster} can be read, and not every source is readable just now`,
        };
  }
  const binding = judgeBinding(hello, deps.ledger);
  if (binding !== undefined) return binding;
  const live = deps.sessions.get(cluster)?.session.hello;
  if (live !== undefined && live.instance !== hello.instance) {
    return {
      type: 'refused',
      reason: 'SecondAgent',
      message: `another agent of cluster ${cluster} is connected (instance ${live.instance}); one cluster has one agent`,
    };
  }
  return { type: 'admitted' };
}

/** A name belongs to one cluster id, until a person releases it for another. */
function judgeBinding({ cluster, clusterId }: AgentHello, ledger: Ledger): Admission | undefined {
  const registration = ledger.registration(cluster);
  if (registration === undefined) return undefined;
  if (registration.released && registration.id === clusterId) {
    return {
      type: 'refused',
      reason: 'ClusterReplaced',
      message: `the name ${cluster} was released for a cluster other than ${clusterId}; to let this one back in, run again: fleetrelay cluster replace ${cluster}`,
    };
  }
  if (!registration.released && registration.id !== clusterId) {
    return {
      type: 'refused',
      reason: 'ClusterIdBound',
      message: `the name ${cluster} belongs to cluster id ${registration.id}, not ${clusterId}; if the cluster was replaced, run: fleetrelay cluster replace ${cluster}`,
    };
  }
  return undefined;
}
