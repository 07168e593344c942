import { isJsonObject, type JsonObject, objectOf, objectsOf } from '../json.ts';
import { current, type Found, inProgress, type Live, type Rules, timeOf, until } from './health.ts';

/** A load balancer can lack an address for good, because nothing in the cluster makes one: then the object is as declared. */
const ADDRESS_MS = 600_000;

export const networkingRules: Rules = {
  '/Service': (live) => (live.spec.type === 'LoadBalancer' ? addressHealth(live, 'f:type') : undefined),
  'networking.k8s.io/Ingress': (live) => addressHealth(live, 'f:rules'),
};

function addressHealth({ metadata, status }: Live, field: string): Found | undefined {
  if (objectsOf(objectOf(status.loadBalancer).ingress).length > 0) return undefined;
  const note = 'the load balancer has no address';
  return until(declaredAt(metadata, field), ADDRESS_MS, inProgress(`${note} yet`), current(note));
}

/**
 * When the object was created, or a field of its spec was last written by the manager that has it, if that was later: the type of
 * a Service can change. Undefined: not known.
 */
function declaredAt({ creationTimestamp, managedFields }: JsonObject, field: string): number | undefined {
  const written = objectsOf(managedFields)
    .filter(({ fieldsV1 }) => isJsonObject(objectOf(objectOf(fieldsV1)['f:spec'])[field]))
    .map(({ time }) => timeOf(time));
  const times = [timeOf(creationTimestamp), ...written].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.max(...times);
}
