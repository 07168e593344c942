import type { KindState, LiveObject } from '../../model/agent.ts';
import { objectDigest } from '../../model/digest.ts';
import type { JsonObject } from '../../model/json.ts';
import { kindOf, labelsOf, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import { discoverGateway, GATEWAY_KIND, gatewayKey, isGateway } from './gateways.ts';

interface Gateway {
  readonly object: LiveObject;
  /** Keys that were read to compute it, also those without an object. */
  readonly madeOf: ReadonlySet<ObjectKey>;
}

const SLICE = 'discovery.k8s.io/EndpointSlice';
const SERVICE_LABEL = 'kubernetes.io/service-name';
const MADE_OF: readonly string[] = ['/Service', SLICE, '/Node', '/Pod'];

/** The gateways of a cluster. A gateway is computed again when an object that it was computed from changes. */
export function createGatewayWatch() {
  const gateways = new Map<ObjectKey, Gateway>();
  const slices = new Map<ObjectKey, Set<ObjectKey>>();
  const serviceOf = new Map<ObjectKey, ObjectKey>();
  let wereThere = false;

  return {
    note,
    /** The gateway of a Service; undefined: the Service is no gateway. */
    of: (service: ObjectKey): LiveObject | undefined => gateways.get(service)?.object,
    kind,
  };

  /** Takes a new state; `keys` can differ from the state before. Returns the Services whose gateways can have changed. */
  function note(live: LiveState, keys: Iterable<ObjectKey>): readonly ObjectKey[] {
    const due = new Set<ObjectKey>();
    for (const key of keys) {
      const kind = kindOf(key);
      if (kind === '/Service') due.add(key);
      else if (kind === SLICE) for (const service of moveSlice(live, key)) due.add(service);
      else if (kind === '/Node' || kind === '/Pod') {
        for (const [service, { madeOf }] of gateways) if (madeOf.has(key)) due.add(service);
      }
    }
    for (const service of due) {
      const gateway = makeGateway(live, service);
      if (gateway === undefined) gateways.delete(service);
      else gateways.set(service, gateway);
    }
    wereThere ||= gateways.size > 0;
    return [...due];
  }

  /** The Services that an EndpointSlice belonged to before and belongs to now. */
  function moveSlice(live: LiveState, key: ObjectKey): readonly ObjectKey[] {
    const before = serviceOf.get(key);
    const value = live.objects.get(key)?.value;
    const now = value === undefined ? undefined : serviceOfSlice(key, value);
    if (before !== undefined && before !== now) {
      slices.get(before)?.delete(key);
      if (slices.get(before)?.size === 0) slices.delete(before);
    }
    if (now === undefined) serviceOf.delete(key);
    else {
      serviceOf.set(key, now);
      const known = slices.get(now) ?? new Set();
      slices.set(now, known.add(key));
    }
    return [before, now].filter((service) => service !== undefined);
  }

  function makeGateway(live: LiveState, service: ObjectKey): Gateway | undefined {
    const value = live.objects.get(service)?.value;
    if (value === undefined || !isGateway(value)) return undefined;
    const madeOf = new Set<ObjectKey>();
    const get = (key: ObjectKey): JsonObject | undefined => {
      madeOf.add(key);
      return live.objects.get(key)?.value;
    };
    const slicesOf = (): readonly JsonObject[] =>
      [...(slices.get(service) ?? [])].sort().flatMap((key): readonly JsonObject[] => {
        const observed = live.objects.get(key);
        return observed === undefined ? [] : [observed.value];
      });
    const made = discoverGateway(service, value, { get, slicesOf });
    return { object: { key: gatewayKey(service), value: made, digest: objectDigest(made) }, madeOf };
  }

  /** The state of the gateway kind; undefined if the cluster never had a gateway and its Services are readable. */
  function kind(kinds: readonly KindState[]): KindState | undefined {
    const isUnseen = kinds.some(({ kind: name, state }) => name === '/Service' && state === 'unknown');
    if (!wereThere && !isUnseen) return undefined;
    const unknown = kinds.find(({ kind: name, state }) => state === 'unknown' && MADE_OF.includes(name));
    return unknown === undefined
      ? { kind: GATEWAY_KIND, state: 'complete', message: '' }
      : { kind: GATEWAY_KIND, state: 'unknown', message: `worked out from ${unknown.kind}: ${unknown.message}` };
  }
}

function serviceOfSlice(key: ObjectKey, slice: JsonObject): ObjectKey | undefined {
  const name = labelsOf(slice)[SERVICE_LABEL];
  const { namespace } = objectRefOf(key);
  return typeof name === 'string' ? objectKey({ group: '', kind: 'Service', namespace, name }) : undefined;
}
