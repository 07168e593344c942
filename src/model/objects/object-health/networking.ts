import { objectOf, objectsOf } from '../../text/json.ts';
import { current, type Found, inProgress, type Live, type Rules, specWrittenAt, until } from './health.ts';

/** A load balancer can lack an address for good, because nothing in the cluster makes one: then the object is as declared. */
const ADDRESS_MS = 600_000;

export const networkingRules: Rules = {
  '/Service': (live) => (live.spec.type === 'LoadBalancer' ? addressHealth(live, ['f:type']) : undefined),
  'networking.k8s.io/Ingress': (live) => addressHealth(live, ['f:rules', 'f:defaultBackend']),
};

const NOTE = 'no controller has given it an address';

function addressHealth({ metadata, status, known }: Live, fields: readonly string[]): Found | undefined {
  if (objectsOf(objectOf(status.loadBalancer).ingress).length > 0) return undefined;
  // The time of `managedFields` moves with each change by the same manager. What has waited once does not wait again.
  if (known.before?.message === NOTE) return current(NOTE);
  return until(specWrittenAt(metadata, fields), ADDRESS_MS, inProgress(`${NOTE} yet`), current(NOTE));
}
