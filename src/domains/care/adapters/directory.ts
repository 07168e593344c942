import { type Authority, certificateReportOf, type FoundAuthority } from '../../../adapters/tls/certificate-report.ts';
import { kindOf, objectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { objectOf } from '../../../model/text/json.ts';
import { errorText } from '../../../model/text/messages.ts';
import type { LiveState } from '../../../ports/cluster-api.ts';
import type { CareApi, FoundLeases } from '../ports/care-api.ts';

const LEASE = 'coordination.k8s.io/Lease';

/** What the care of Shoots reads of a folder. It has no API server and no tunnel: reading it is the answer. */
export function createDirectoryCare(live: () => Promise<LiveState>, watch: (hint: () => void) => () => void): CareApi {
  return {
    leases: (namespaces) => live().then((state) => leasesIn(state, namespaces), unanswered),
    certificates: () => live().then(authoritiesIn, () => undefined),
    watch: (hint) => watch(() => hint('leases')),
  };
}

/** The Leases among the files. A file that cannot be read could be one of any Namespace. */
export function leasesIn({ objects, kinds }: LiveState, namespaces: readonly string[]): FoundLeases {
  const wanted = new Set(namespaces);
  const leases = [...objects.values()].filter(
    ({ key }) => kindOf(key) === LEASE && wanted.has(objectRefOf(key).namespace),
  );
  // A kind that is known only by the path of a file is in lower case.
  const unknown = kinds.find(({ kind, state }) => kind.toLowerCase() === LEASE.toLowerCase() && state === 'unknown');
  const refused = unknown === undefined ? [] : namespaces.map((namespace) => [namespace, unknown.message] as const);
  return { leases: leases.map(({ value }) => value), refused: Object.fromEntries(refused) };
}

/** The CertificateReport of the ConfigMaps among the files. */
export function authoritiesIn({ objects }: LiveState) {
  const find = (name: Authority): FoundAuthority => {
    const found = objects.get(objectKey({ group: '', kind: 'ConfigMap', namespace: 'kube-system', name }));
    return found && { data: objectOf(found.value.data) };
  };
  return certificateReportOf({
    'kube-root-ca.crt': find('kube-root-ca.crt'),
    'extension-apiserver-authentication': find('extension-apiserver-authentication'),
  });
}

function unanswered(error: unknown): FoundLeases {
  return { leases: [], refused: {}, unanswered: errorText(error) };
}
