import type { Engine } from '../../engine/graph.ts';
import type { AgentHello } from '../../model/agent.ts';
import type { ClusterName, FleetName } from '../../model/ids.ts';
import type {
  AgentCertificate,
  HelloDecision,
  RegistrationDecision,
  RegistrationRequest,
} from '../../relay/session.ts';
import type { Ledger } from '../../runtime/ledger/ledger.ts';
import { isVoid } from '../../runtime/ledger/registrations.ts';
import type { Sessions } from '../../runtime/sessions.ts';

/** What is asked of the server to judge who may speak for a cluster. */
export interface AdmissionDeps {
  readonly fleet: FleetName;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly sessions: Sessions;
  readonly mayStart: () => boolean;
  /** Every configured source has been read and is whole: then an unknown name is really unknown. */
  readonly knowsAll: () => boolean;
}

/** Judges who may speak for a cluster; asked at every stream's hello, after the token or the certificate was found right. */
export function judgeHello(
  hello: AgentHello,
  certificate: AgentCertificate | undefined,
  deps: AdmissionDeps,
): HelloDecision {
  const { cluster } = hello;
  if (hello.fleet !== undefined && hello.fleet !== deps.fleet) {
    return {
      type: 'refused',
      reason: 'OtherFleet',
      message: `what is in cluster ${cluster} belongs to the fleet ${hello.fleet}, this server serves the fleet ${deps.fleet}; nothing is changed`,
    };
  }
  const trouble =
    judgeName(cluster, deps) ?? judgeBinding(hello, deps.ledger) ?? judgeCertificate(cluster, certificate, deps.ledger);
  if (trouble !== undefined) return trouble;
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

/** Judges who may have a client certificate for a cluster, and says which registration it is for. */
export function judgeRegistration(request: RegistrationRequest, deps: AdmissionDeps): RegistrationDecision {
  const { cluster, proof, certificate } = request;
  const trouble =
    judgeName(cluster, deps) ??
    judgeBinding(request, deps.ledger) ??
    judgeCertificate(cluster, certificate, deps.ledger);
  if (trouble !== undefined) return trouble;
  const registration = deps.ledger.registration(cluster);
  if (proof === 'shared' && registration !== undefined && !registration.released) {
    return {
      type: 'refused',
      reason: 'SharedTokenBound',
      message: `the shared token enrols new names only, and ${cluster} belongs to a cluster already: give its agent the token of its own, which this prints where the server runs: fleetrelay cluster token ${cluster} --data-dir DIR`,
    };
  }
  const number = Math.max(endedRegistrations(deps.ledger, cluster), certificate?.registration ?? 0);
  return { type: 'admitted', registration: number };
}

/** How many registrations of the name are over: the number of the one that is, or is to be. */
export function endedRegistrations(ledger: Pick<Ledger, 'revocation'>, cluster: string): number {
  return ledger.revocation(cluster)?.ended ?? 0;
}

/** Is this the name of a cluster? */
function judgeName(cluster: ClusterName, deps: AdmissionDeps): HelloDecision | undefined {
  if (!deps.mayStart()) {
    return { type: 'retry', reason: 'ServerStarting', message: 'the server has not read its sources yet' };
  }
  if (deps.engine.clusters.get('', cluster) !== undefined) return undefined;
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

/** A cluster that was deregistered takes its certificates with it, also if its name is registered again. */
function judgeCertificate(
  cluster: ClusterName,
  certificate: AgentCertificate | undefined,
  ledger: Ledger,
): HelloDecision | undefined {
  if (certificate === undefined || !isVoid(certificate, ledger.revocation(cluster))) return undefined;
  return {
    type: 'unproven',
    reason: 'CertificateRevoked',
    message: `the certificate of cluster ${cluster} was issued before the cluster was deregistered; its agent enrols again with a token`,
  };
}

/** A name belongs to one cluster id, until a person releases it for another. */
function judgeBinding(
  { cluster, clusterId }: Pick<AgentHello, 'cluster' | 'clusterId'>,
  ledger: Ledger,
): HelloDecision | undefined {
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
