import type { ClusterId, ClusterName } from '../../model/ids.ts';
import type { CertificateFacts, CertificateRequests } from '../../ports/certificate-requests.ts';
import type { ClientConnection, StreamEnd, StreamMetadata } from '../../ports/transport.ts';
import { readRegisterResponse, registerRequestBytes } from '../wire/certificates.ts';
import { ProtocolError } from '../wire/protocol-error.ts';
import { type AgentIdentity, identityOf } from './identity-uri.ts';

/** For whom a certificate is asked. */
export interface Applicant {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  readonly version: string;
}

/** A pair that was issued and not saved yet, with what was said of roots (empty: nothing). */
export interface IssuedPair {
  readonly key: string;
  readonly certificate: string;
  readonly roots: string;
}

/** Asks for a certificate over this connection, with a new key. Never rejects; what comes back fits the key and the cluster. */
export async function register(
  requests: CertificateRequests,
  { cluster, clusterId, version }: Applicant,
  connection: ClientConnection,
  metadata: StreamMetadata,
): Promise<IssuedPair | StreamEnd> {
  const { key, request } = await requests.create();
  const question = registerRequestBytes({ cluster, clusterId, version, certificateRequest: request });
  const answer = await connection.register(question, metadata);
  if ('refused' in answer) return answer.refused;
  try {
    const { certificate, roots } = readRegisterResponse(answer.response);
    const facts = requests.inspect({ key, certificate });
    const unfit = facts.ok ? unfitness(facts.value, cluster, clusterId) : facts.problem;
    return unfit === undefined ? { key, certificate, roots } : wrong('WrongCertificate', unfit);
  } catch (error) {
    if (error instanceof ProtocolError) return wrong(error.reason, error.message);
    throw error;
  }
}

/** Why a certificate is not this cluster's, in words; undefined if it is. */
export function unfitness(
  { names, uris }: CertificateFacts,
  cluster: ClusterName,
  clusterId: ClusterId,
): string | undefined {
  if (!names.includes(cluster)) return `it is for ${names.join(', ') || 'no cluster'}`;
  const identity = issuedFor(uris);
  if (identity === undefined) return 'it does not say for which cluster of this name it is';
  if (identity.cluster !== cluster) return `it is for the cluster ${identity.cluster}`;
  return identity.clusterId === clusterId ? undefined : 'it is for another cluster of this name';
}

/** For whom a certificate was issued. */
export function issuedFor(uris: readonly string[]): AgentIdentity | undefined {
  return uris.map(identityOf).find((identity) => identity !== undefined);
}

function wrong(reason: string, message: string): StreamEnd {
  return { code: 'invalid', reason, message: `the server has issued a certificate that is of no use here: ${message}` };
}
