import type { AgentHello } from '../../model/agent/agent.ts';
import type { FleetName } from '../../model/fleet/ids.ts';
import type {
  AgentCertificate,
  HelloDecision,
  RegistrationDecision,
  RegistrationRequest,
} from '../../relay/session.ts';
import type { Ledger } from '../../runtime/ledger/ledger.ts';
import { isVoid } from '../../runtime/ledger/registrations.ts';
import type { ServerParts } from '../../runtime/parts.ts';

export interface HelloDeps extends Pick<ServerParts, 'engine' | 'ledger' | 'sessions'> {
  readonly fleet: FleetName;
  readonly mayStart: () => boolean;
  /** Every configured source has been read completely: then an undeclared name is unknown. */
  readonly knowsAll: () => boolean;
}

type Refusal = Exclude<HelloDecision, { readonly type: 'admitted' }>;

/** Decides whether an agent is admitted at a hello, after its token or certificate was verified. */
export function judgeHello(
  hello: AgentHello,
  certificate: AgentCertificate | undefined,
  deps: HelloDeps,
): HelloDecision {
  const { cluster, fleet, instance } = hello;
  if (fleet !== undefined && fleet !== deps.fleet) {
    const message = `what is in cluster ${cluster} belongs to the fleet ${fleet}, this server serves the fleet ${deps.fleet}; nothing is changed`;
    return refused('OtherFleet', message);
  }
  const refusal = refusalOf(hello, certificate, deps);
  if (refusal !== undefined) return refusal;
  const live = deps.sessions.get(cluster)?.session.hello;
  if (live === undefined || live.instance === instance) return { type: 'admitted' };
  return refused(
    'SecondAgent',
    `another agent of cluster ${cluster} is connected (instance ${live.instance}); one cluster has one agent`,
  );
}

/** Decides whether an agent gets a client certificate, and for which registration of the cluster's name. */
export function judgeRegistration(request: RegistrationRequest, deps: HelloDeps): RegistrationDecision {
  const { cluster, proof, certificate } = request;
  const refusal = refusalOf(request, certificate, deps);
  if (refusal !== undefined) return refusal;
  const registration = deps.ledger.registration(cluster);
  if (proof === 'shared' && registration !== undefined && !registration.released) {
    const message = `the shared token enrols new names only, and ${cluster} belongs to a cluster already: give its agent the token of its own, which this prints where the server runs: fleetrelay cluster token ${cluster} --data-dir DIR`;
    return refused('SharedTokenBound', message);
  }
  const number = Math.max(endedRegistrations(deps.ledger, cluster), certificate?.registration ?? 0);
  const isBound = registration !== undefined && !registration.released;
  return { type: 'admitted', registration: number, ...(isBound ? { isBound } : {}) };
}

/** Number of ended registrations of the name, which is the number of the present or next one. */
export function endedRegistrations(ledger: Pick<Ledger, 'revocation'>, cluster: string): number {
  return ledger.revocation(cluster)?.ended ?? 0;
}

/**
 * Checks the name, the cluster id and the certificate. A name belongs to one cluster id until a person releases it. A
 * deregistration revokes the certificates of the name, also for later registrations.
 */
function refusalOf(
  { cluster, clusterId }: Pick<AgentHello, 'cluster' | 'clusterId'>,
  certificate: AgentCertificate | undefined,
  { engine, ledger, mayStart, knowsAll }: HelloDeps,
): Refusal | undefined {
  if (!mayStart()) {
    return { type: 'retry', reason: 'ServerStarting', message: 'the server has not read its sources yet' };
  }
  if (engine.clusters.get('', cluster) === undefined) {
    const message = `no KubernetesCluster ${cluster} can be read, and not every source is readable just now`;
    return knowsAll()
      ? refused(
          'UnknownCluster',
          `no KubernetesCluster ${cluster} is declared in any source: add one to let its agent in`,
        )
      : { type: 'retry', reason: 'ClusterNotReadable', message };
  }
  const { id = clusterId, released = false } = ledger.registration(cluster) ?? {};
  if (released && id === clusterId) {
    const message = `the name ${cluster} was released for a cluster other than ${clusterId}; to let this one back in, run again: fleetrelay cluster replace ${cluster}`;
    return refused('ClusterReplaced', message);
  }
  if (!released && id !== clusterId) {
    const message = `the name ${cluster} belongs to cluster id ${id}, not ${clusterId}; if the cluster was replaced, run: fleetrelay cluster replace ${cluster}`;
    return refused('ClusterIdBound', message);
  }
  if (certificate === undefined || !isVoid(certificate, ledger.revocation(cluster))) return undefined;
  const message = `the certificate of cluster ${cluster} was issued before the cluster was deregistered; its agent enrols again with a token`;
  return { type: 'unproven', reason: 'CertificateRevoked', message };
}

function refused(reason: string, message: string): Refusal {
  return { type: 'refused', reason, message };
}
