import { createCertificateRequests } from '../../src/adapters/tls/certificate-requests.ts';
import type { ClientTransport, DialCredentials, StreamEnd } from '../../src/ports/transport.ts';
import { register } from '../../src/relay/trust/enrolment.ts';
import { clusterId, clusterName } from './relay-world.ts';

/** What an agent shows after it has enrolled. */
export type Identity = NonNullable<DialCredentials['identity']>;

/** Enrols at a server with a token, or renews with what is shown, and gives the key and the certificate, or why not. */
export async function enrolled(
  transport: ClientTransport,
  { cluster, id = `${cluster}-id`, token, shown }: { cluster: string; id?: string; token?: string; shown?: Identity },
): Promise<(Identity & { readonly roots: string }) | StreamEnd> {
  const connection = transport.dial(shown === undefined ? undefined : { identity: shown, roots: '' });
  try {
    const applicant = { cluster: clusterName(cluster), clusterId: clusterId(id), version: '1.0.0' };
    return await register(await createCertificateRequests().create(), applicant, connection, token ?? '');
  } finally {
    connection.close();
  }
}

/** As {@link enrolled}, where it must succeed. */
export async function mustEnrol(...args: Parameters<typeof enrolled>): Promise<Identity & { readonly roots: string }> {
  const issued = await enrolled(...args);
  if ('code' in issued) throw new Error(`not enrolled: ${JSON.stringify(issued)}`);
  return issued;
}
