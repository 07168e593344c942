import type { Collection, Entry, Index } from '../../../engine/collections/types.ts';
import type { Entity, EntityKind, Fact, Reason } from '../../../engine/domain.ts';
import { compareText } from '../../../model/text/json.ts';
import { counted } from '../../../model/text/messages.ts';
import type { DataplaneValue } from './dataplanes.ts';
import { type DataplaneSources, dataplaneFacts, NAMED, placeOf } from './explain-dataplane.ts';
import { dataplaneOfMember, type MemberValue, type ServiceValue } from './services.ts';
import { dataplaneRow, serviceRow } from './views.ts';

/** What explanations read. */
interface HealthSources extends DataplaneSources {
  readonly dataplanes: Collection<DataplaneValue>;
  readonly services: Collection<ServiceValue>;
  /** The group of all data planes of a service has the key of the service. */
  readonly membersByService: Index<MemberValue>;
}

/** Data planes and services, as people ask about them. */
export function healthEntities(sources: HealthSources): readonly EntityKind[] {
  const { dataplanes, services } = sources;
  const all = (): readonly Entry<DataplaneValue>[] =>
    [...dataplanes.partitions()].flatMap((partition) => [...dataplanes.entries(partition)]);
  return [
    {
      words: ['dataplane', 'dataplanes', 'dp'],
      parent: 'mesh',
      names: () => all().map(({ value }) => value.dataplane.name),
      named: (name) =>
        all()
          .filter(({ value }) => value.dataplane.name === name)
          .sort((a, b) => compareText(a.key, b.key) || compareText(a.partition, b.partition))
          .map((entry) => dataplaneEntity(sources, entry)),
    },
    {
      words: ['service', 'services', 'svc'],
      parent: 'mesh',
      names: () => [...services.entries('')].map(({ value }) => value.name),
      named: (name) =>
        [...services.entries('')]
          .filter(({ value }) => value.name === name)
          .sort((a, b) => compareText(a.key, b.key))
          .map((entry) => serviceEntity(sources, entry)),
    },
  ];
}

function dataplaneEntity(sources: HealthSources, entry: Entry<DataplaneValue>): Entity {
  const { partition: cluster, value } = entry;
  const { dataplane, from, notes } = value;
  const origin: readonly Reason[] =
    from.type === 'declared'
      ? []
      : [{ type: 'live', cluster: from.cluster, key: from.key, part: `is the data plane ${dataplane.name}` }];
  return {
    name: dataplane.name,
    parent: dataplane.mesh,
    ...(cluster === '' ? {} : { cluster }),
    ...(from.type === 'declared' ? { declaration: { kind: 'Dataplane', key: from.key } as const } : {}),
    explain: () => ({
      row: dataplaneRow(entry, sources.inputs),
      message: notes.length > NAMED ? counted(notes.length, 'note') : notes.join('; '),
      reasons: [...origin, ...dataplaneFacts(sources, entry, { depth: 0 })],
    }),
  };
}

function serviceEntity(sources: HealthSources, { key, value }: Entry<ServiceValue>): Entity {
  const { mesh, name, dataplanes, endpoints } = value;
  return {
    name,
    parent: mesh,
    explain: () => ({
      row: serviceRow(value),
      message: `${dataplanes.online} of ${counted(dataplanes.total, 'data plane')} online, ${endpoints.ready} of ${counted(endpoints.total, 'endpoint')} in the load-balancing set`,
      reasons: memberFacts(sources, key, name),
    }),
  };
}

/** The data planes of a service, those that are not online first. */
function memberFacts(sources: HealthSources, service: string, name: string): readonly Fact[] {
  const entries = sources.membersByService.members(service).flatMap(({ key }): readonly Entry<DataplaneValue>[] => {
    const at = dataplaneOfMember(key);
    const value = sources.dataplanes.get(at.partition, at.key);
    return value === undefined ? [] : [{ ...at, value }];
  });
  const ordered = URGENCY.flatMap((status) => entries.filter(({ value }) => value.status === status));
  const facts = ordered.slice(0, NAMED).flatMap((entry): readonly Fact[] => {
    const { value } = entry;
    return [
      {
        type: 'fact',
        depth: 0,
        kind: 'data plane',
        name: value.dataplane.name,
        ...placeOf(sources, value),
        note: value.status,
      },
      ...dataplaneFacts(sources, entry, { depth: 1, service: name }),
    ];
  });
  const left = ordered.slice(NAMED);
  if (left.length === 0) return facts;
  const online = left.filter(({ value }) => value.status === 'Online').length;
  const note = `and ${left.length} more: ${online} online, ${left.length - online} not`;
  return [...facts, { type: 'fact', depth: 0, kind: 'data planes', name: '', note }];
}

const URGENCY = ['Offline', 'Partially degraded', 'Online'] as const;
