import { carriesEndpoints, servedService, serviceOfEndpoints } from '../../model/endpoints.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { displayKey, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Graph, Index, Reader } from '../collections/types.ts';
import type { Decision, Hold } from './decision.ts';

/** Collections that tell which objects carry the addresses of a service. */
export interface Endpoints {
  readonly ledger: Collection<LedgerEntry>;
  /** Outputs that carry addresses of a service, by {@link serviceGroup}. */
  readonly serving: Index<Decision>;
}

/** The reason of a {@link Hold} by {@link whyEmptied}. */
export const EMPTIED = 'EndpointsEmptied';

/** Indexes the outputs that carry addresses: by their new content, or by the accepted one if they stay. */
export function indexServing(graph: Graph, decisions: Collection<Decision>): Index<Decision> {
  return graph.index('servingEndpoints', decisions, ({ partition: cluster, key, value }) => {
    if (value.type !== 'object' && value.type !== 'keep') return [];
    const service = value.type === 'object' ? servedService(key as ObjectKey, value.value) : value.serves;
    return service === undefined || service === '' ? [] : [serviceGroup(cluster, key as ObjectKey, service)];
  });
}

/**
 * Why a change waits that removes the last addresses of a service: its clients lose it, as by a removal. Undefined if
 * addresses are left, or if the Service itself is removed (`goes`): then the guards judge that removal.
 */
export function whyEmptied(
  read: Reader,
  { ledger, serving }: Endpoints,
  cluster: string,
  key: ObjectKey,
  decision: Extract<Decision, { readonly type: 'object' | 'remove' }>,
  goes: (service: ObjectKey) => boolean,
): Hold | undefined {
  if (!carriesEndpoints(key)) return undefined;
  const entry = read.get(ledger, cluster, key);
  const service = servedBefore(key, decision, entry);
  if (service === '') return undefined;
  if (decision.type === 'object' && servedService(key, decision.value) === service) return undefined;
  if (read.count(serving, serviceGroup(cluster, key, service)) > 0) return undefined;
  const { namespace } = objectRefOf(key);
  const ofService = objectKey({ group: '', kind: 'Service', namespace, name: service });
  if (goes(ofService)) return undefined;
  return {
    reason: EMPTIED,
    message: `${displayKey(ofService)} would be left without any address: ${displayKey(key)} ${decision.type === 'remove' ? 'goes' : 'becomes empty'}`,
  };
}

/** If the accepted content is unknown it counts as serving: a person can approve a hold that was not needed. */
function servedBefore(key: ObjectKey, decision: Decision, entry: LedgerEntry | undefined): string {
  if (entry === undefined || entry.phase === 'removing') return '';
  if (entry.serves !== undefined) return entry.serves;
  if (decision.type !== 'object') return objectRefOf(key).kind === 'Endpoints' ? objectRefOf(key).name : '';
  return entry.digest === decision.digest ? '' : serviceOfEndpoints(key, decision.value);
}

function serviceGroup(cluster: string, key: ObjectKey, service: string): string {
  return `${cluster}/${objectRefOf(key).namespace}/${service}`;
}
