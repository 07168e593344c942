import {
  checksumOf,
  type Inputs,
  type MergedService,
  type Service,
  type Subject,
  service,
  type Update,
} from './workload.ts';

/** One output that became another. */
interface OutputChange {
  readonly cluster: string;
  readonly host: string;
  readonly before: MergedService | undefined;
  readonly after: MergedService;
}

/**
 * The same workload by hand, for nothing but this workload: no tracking, no scopes, no provenance, no failures, no
 * deletion, no order. What any engine could at best come near to.
 */
export function createFloorSubject(inputs: Inputs): Subject & { recomputeAll(): number } {
  const services = new Map<string, Map<string, Service>>(inputs.clusters.map((cluster) => [cluster, new Map()]));
  const merged = new Map<string, MergedService>();
  const outputs = new Map<string, Map<string, MergedService>>(inputs.clusters.map((cluster) => [cluster, new Map()]));

  const merge = (host: number): MergedService => {
    const { name, value } = inputs.hosts[host] as Inputs['hosts'][number];
    const endpoints: Service[] = [];
    for (const cluster of value.homes) {
      const one = services.get(cluster)?.get(name);
      if (one !== undefined) endpoints.push(one);
    }
    return { host: name, endpoints };
  };

  const refresh = (host: number): OutputChange[] => {
    const { name, value } = inputs.hosts[host] as Inputs['hosts'][number];
    const after = merge(host);
    const before = merged.get(name);
    const changes: OutputChange[] = [];
    if (before !== undefined && sameService(before, after)) return changes;
    merged.set(name, after);
    for (const cluster of value.exports) {
      outputs.get(cluster)?.set(name, after);
      changes.push({ cluster, host: name, before, after });
    }
    return changes;
  };

  return {
    load: (cluster) => {
      const homes = inputs.residents.get(cluster) ?? [];
      for (const { host, home } of homes) {
        services.get(cluster)?.set(inputs.hosts[host]?.name as string, inputs.services[host]?.[home] as Service);
      }
      for (const { host } of homes) refresh(host);
    },
    update: ({ host, home, version }: Update) => {
      const { name, value } = inputs.hosts[host] as Inputs['hosts'][number];
      services.get(value.homes[home] as string)?.set(name, service(host, home, version));
      return refresh(host).length;
    },
    recomputeAll: () => {
      const fresh = new Map<string, Map<string, MergedService>>(inputs.clusters.map((cluster) => [cluster, new Map()]));
      let count = 0;
      inputs.hosts.forEach(({ name, value }, host) => {
        const one = merge(host);
        for (const cluster of value.exports) {
          fresh.get(cluster)?.set(name, one);
          count += 1;
        }
      });
      return count;
    },
    outputs: () => [...outputs.values()].reduce((sum, entries) => sum + entries.size, 0),
    checksum: () => checksumOf(allOutputs(outputs)),
  };
}

function* allOutputs(
  outputs: ReadonlyMap<string, ReadonlyMap<string, MergedService>>,
): Iterable<readonly [string, MergedService]> {
  for (const [cluster, entries] of outputs) for (const value of entries.values()) yield [cluster, value];
}

function sameService(a: MergedService, b: MergedService): boolean {
  return (
    a.endpoints.length === b.endpoints.length &&
    a.endpoints.every((one, at) => {
      const other = b.endpoints[at] as Service;
      return (
        one === other ||
        (one.port === other.port &&
          one.addresses.length === other.addresses.length &&
          one.addresses.every((address, place) => address === other.addresses[place]))
      );
    })
  );
}
