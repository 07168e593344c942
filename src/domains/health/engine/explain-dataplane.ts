import type { Collection, Entry } from '../../../engine/collections/types.ts';
import type { Fact } from '../../../engine/domain.ts';
import type { Declarations } from '../../../engine/fleet/declared.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import { displayKey } from '../../../model/objects/object-key.ts';
import type { WrittenPath } from '../../../model/text/field-path.ts';
import { objectOf, textOf } from '../../../model/text/json.ts';
import { rfc3339 } from '../../../model/text/time.ts';
import { given } from '../../../model/values/given.ts';
import { type Inbound, networkingOf } from '../model/dataplane.ts';
import type { HealthReport } from '../model/dataplane-health.ts';
import { type DataplaneValue, dataplaneKey, isReady } from './dataplanes.ts';
import { isCounted, NO_CAUSES, type NotReadyCause, workloadKey } from './status.ts';
import { staleness } from './views.ts';

/** What explanations of data planes read. */
export interface DataplaneSources {
  readonly inputs: Pick<EngineInputs, 'agents' | 'kinds' | 'live'>;
  readonly declarations: Declarations;
  readonly reports: Collection<HealthReport>;
  /** The data planes whose report is waited for after a start. */
  readonly awaited: Collection<true>;
}

/** An explanation names at most this many of each: inbounds, causes, listeners, doubts. */
export const NAMED = 20;

/** The place where a data plane, or a part of it, is written. */
export function placeOf({ declarations }: DataplaneSources, { from }: DataplaneValue, field: WrittenPath = []): Place {
  if (from.type !== 'declared') return { at: { cluster: from.cluster } };
  const declared = declarations.get('Dataplane', from.key);
  if (declared === undefined) return {};
  const path = field.length === 0 ? {} : { field: [...networkingOf(from.key), ...field] };
  return { at: { ...declared.origin, identity: declared.identity, ...path } };
}

type Place = Pick<Fact, 'at'>;

/**
 * What the status of a data plane comes from: whether it is known now, its connection, its inbounds, listeners or gateway.
 *
 * @param service the inbounds of this service only; undefined: all
 */
export function dataplaneFacts(
  sources: DataplaneSources,
  entry: Entry<DataplaneValue>,
  { depth, service }: { readonly depth: number; readonly service?: string },
): readonly Fact[] {
  const { value } = entry;
  const { dataplane, connection, doubts } = value;
  const stale = staleness(value.from, sources.inputs);
  const fact = (kind: string, name: string, note: string, place: Place = {}): Fact => ({
    type: 'fact',
    depth,
    kind,
    name,
    note,
    ...place,
  });
  return [
    ...(stale === undefined ? [] : [fact('cluster', entry.partition, stale)]),
    fact('connection', '', connectionText(sources, value)),
    ...(connection.rejected === undefined
      ? []
      : [fact('Envoy', '', `refuses the endpoints that it was sent last: ${connection.rejected}`)]),
    ...(dataplane.gateway === undefined
      ? []
      : [fact('gateway', dataplane.gateway.service, `is ${dataplane.gateway.type}: its connection alone decides`)]),
    ...inboundFacts(sources, value, { depth, ...given({ service }) }),
    ...bounded(
      dataplane.listeners.map(({ type, address, port, state }) =>
        fact('listener', `${type} ${hostPort(address, port)}`, state === 'Ready' ? 'is ready' : 'is not ready'),
      ),
      fact('listeners', '', ''),
    ),
    ...bounded(
      doubts.map(({ text }) => fact('doubt', '', text)),
      fact('doubts', '', ''),
    ),
  ];
}

/** The first {@link NAMED} facts, and the number of the others. */
function bounded(facts: readonly Fact[], more: Fact): readonly Fact[] {
  if (facts.length <= NAMED) return facts;
  return [...facts.slice(0, NAMED), { ...more, note: `and ${facts.length - NAMED} more` }];
}

function connectionText({ inputs }: DataplaneSources, { from, connection }: DataplaneValue): string {
  const since = connection.since === undefined ? '' : ` since ${rfc3339(connection.since)}`;
  const why = connectionReason(inputs, from, connection);
  const state = connection.state === 'never' ? 'never connected' : connection.state;
  return `${state}${since}${why === '' ? '' : `: ${why}`}`;
}

function connectionReason(
  { live }: DataplaneSources['inputs'],
  from: DataplaneValue['from'],
  { state, ended }: DataplaneValue['connection'],
): string {
  if (from.type === 'declared') {
    if (state === 'draining') return 'its Envoy reports itself unhealthy';
    if (state === 'disconnected') return ended ?? '';
    return state === 'never' ? 'no Envoy of it has ever opened a stream' : '';
  }
  if (state === 'draining') return 'its Pod is terminating';
  if (from.type === 'live') return state === 'never' ? 'it has no DataplaneInsight with a subscription' : '';
  const { phase, reason } = objectOf(live.get(from.cluster, from.key)?.value.status);
  return [`its Pod is ${textOf(phase)}`, textOf(reason)].filter((text) => text !== '').join(', ');
}

function inboundFacts(
  sources: DataplaneSources,
  value: DataplaneValue,
  { depth, service }: { readonly depth: number; readonly service?: string },
): readonly Fact[] {
  const wanted = [...value.dataplane.inbounds.entries()]
    .filter(([, inbound]) => service === undefined || (inbound.service === service && isCounted(inbound)))
    // The sort is stable: it keeps the order of the inbounds.
    .sort(([a, one], [b, other]) => Number(isFine(value, a, one)) - Number(isFine(value, b, other)));
  const facts = wanted.slice(0, NAMED).flatMap(([position, inbound]): readonly Fact[] => {
    const place = placeOf(sources, value, ['inbound', position]);
    const name = hostPort(inbound.address, inbound.port);
    const note = inboundText(inbound, isReady(value, position), service === undefined);
    const head: Fact = { type: 'fact', depth, kind: 'inbound', name, ...place, note };
    return [head, ...evidence(sources, value, position).map((fact): Fact => ({ ...fact, depth: depth + 1 }))];
  });
  const left = wanted.length - NAMED;
  return left <= 0 ? facts : [...facts, { type: 'fact', depth, kind: 'inbounds', name: '', note: `and ${left} more` }];
}

/** Nothing of it keeps the data plane from being online. */
function isFine(value: DataplaneValue, position: number, inbound: Inbound): boolean {
  return isReady(value, position) || !isCounted(inbound);
}

function inboundText(inbound: Inbound, ready: boolean, withService: boolean): string {
  const of = !withService ? '' : inbound.service === '' ? 'belongs to no service; ' : `of service ${inbound.service}; `;
  if (!isCounted(inbound)) return `${of}is declared as ignored, and counts nowhere`;
  const set = inbound.service === '' ? '' : ` ${ready ? 'in' : 'not in'} the load-balancing set`;
  return ready ? `${of}is ready${set === '' ? '' : `,${set}`}` : `${of}is not ready${set === '' ? '' : `,${set}`}`;
}

/** Why an inbound is not ready, or that its Envoy reports it as healthy. */
function evidence(sources: DataplaneSources, value: DataplaneValue, position: number): readonly Omit<Fact, 'depth'>[] {
  const inbound = value.dataplane.inbounds[position];
  if (inbound === undefined || !isCounted(inbound)) return [];
  const causes = value.causes[position] ?? NO_CAUSES;
  const facts = causes.slice(0, NAMED).map((cause) => causeFact(sources, value, { inbound, position }, cause));
  if (causes.length > NAMED) return [...facts, evidenceOf('causes', '', `and ${causes.length - NAMED} more`)];
  const report = reportOf(sources, value);
  return causes.length === 0 && report?.workloads[workloadKey(inbound)] === true
    ? [evidenceOf('Envoy', '', `reports ${workloadKey(inbound)} as healthy${newsOf(report)}`)]
    : facts;
}

function evidenceOf(kind: string, name: string, note: string): Omit<Fact, 'depth'> {
  return { type: 'fact', kind, name, note };
}

function causeFact(
  sources: DataplaneSources,
  value: DataplaneValue,
  { inbound, position }: { readonly inbound: Inbound; readonly position: number },
  cause: NotReadyCause,
): Omit<Fact, 'depth'> {
  const report = reportOf(sources, value);
  const { from } = value;
  switch (cause.type) {
    case 'declared': {
      const [field, part] =
        inbound.state === 'Ready' ? ['health', 'has health.ready: false'] : ['state', `has state: ${inbound.state}`];
      return { ...evidenceOf('Dataplane', '', part), ...placeOf(sources, value, ['inbound', position, field]) };
    }
    case 'container':
    case 'sidecar':
      return {
        ...evidenceOf(cause.type, cause.name, `is not ready${cause.reason === '' ? '' : `: ${cause.reason}`}`),
        ...inClusterOf(value),
      };
    case 'terminating':
      return {
        ...evidenceOf('Pod', from.type === 'declared' ? '' : displayKey(from.key), 'is terminating'),
        ...inClusterOf(value),
      };
    case 'unreported': {
      const isAwaited = sources.awaited.get('', dataplaneKey(value.dataplane)) !== undefined;
      const wait = isAwaited ? '; its report is waited for, since the store may have lost it' : '';
      return evidenceOf('Envoy', '', `has not reported the health of ${workloadKey(inbound)}${wait}`);
    }
    case 'unprobed': {
      const why = `cannot probe ${inbound.workload.address}, a host name: serviceAddress must be an IP address`;
      return { ...evidenceOf('Envoy', '', why), ...placeOf(sources, value, ['inbound', position, 'serviceProbe']) };
    }
    case 'unhealthy':
      return evidenceOf('Envoy', '', `reports ${workloadKey(inbound)} as unhealthy${newsOf(report)}`);
    case 'draining': {
      const since = report === undefined ? '' : ` since ${rfc3339(report.envoySince)}`;
      return evidenceOf('Envoy', '', `reports itself unhealthy${since}, as it does while it drains`);
    }
  }
}

function inClusterOf({ from }: DataplaneValue): Place {
  return from.type === 'declared' ? {} : { at: { cluster: from.cluster } };
}

function reportOf({ reports }: DataplaneSources, { from, dataplane }: DataplaneValue): HealthReport | undefined {
  return from.type === 'declared' ? reports.get('', dataplaneKey(dataplane)) : undefined;
}

function newsOf(report: HealthReport | undefined): string {
  return report?.newsAt === undefined ? '' : `; its last report with news came at ${rfc3339(report.newsAt)}`;
}

function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
