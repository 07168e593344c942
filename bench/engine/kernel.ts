import { createGraph } from '../../src/engine/collections/graph.ts';
import {
  checksumOf,
  type Host,
  type Inputs,
  type MergedService,
  type Service,
  type Subject,
  service,
} from './workload.ts';

/**
 * The workload on the kernel, through its public face only: declared scopes, tracked reads, provenance, isolated
 * failures, and a watch on the outputs.
 */
export function createKernelSubject(inputs: Inputs): Subject & { loadAll(): void } {
  const graph = createGraph();
  const hosts = graph.input<Host>('hosts');
  const services = graph.input<Service>('services', { live: true });
  const servicesByHost = graph.index<Service>('servicesByHost', services, ({ key }) => [key]);
  const merged = graph.derive<Host, MergedService>({
    name: 'merged',
    from: hosts,
    reads: [servicesByHost],
    scope: ({ value }) => value.homes,
    compute: ({ key }, read, emit) => {
      const endpoints = read.members(servicesByHost, key).map(({ value }) => value);
      if (endpoints.length > 0) emit('', key, { host: key, endpoints });
    },
  });
  const exported = graph.derive<MergedService, MergedService>({
    name: 'exported',
    from: merged,
    reads: [hosts],
    compute: ({ key, value }, read, emit) => {
      for (const cluster of read.get(hosts, '', key)?.exports ?? []) emit(cluster, key, value);
    },
  });
  const changes = graph.watch(exported);
  const provenance = inputs.clusters.map((cluster) => ({ agent: cluster }));
  const provenanceOf = new Map(inputs.clusters.map((cluster, at) => [cluster, provenance[at]]));

  for (const { name, value } of inputs.hosts) hosts.set('', name, value, provenance[0]);

  const stage = (cluster: string): void => {
    for (const { host, home } of inputs.residents.get(cluster) ?? []) {
      const name = inputs.hosts[host]?.name as string;
      services.set(cluster, name, inputs.services[host]?.[home] as Service, provenanceOf.get(cluster));
    }
  };

  return {
    load: (cluster) => {
      stage(cluster);
      graph.commit();
      changes.take();
    },
    loadAll: () => {
      for (const cluster of inputs.clusters) stage(cluster);
      graph.commit();
      changes.take();
    },
    update: ({ host, home, version }) => {
      const { name, value } = inputs.hosts[host] as Inputs['hosts'][number];
      const cluster = value.homes[home] as string;
      services.set(cluster, name, service(host, home, version), provenanceOf.get(cluster));
      graph.commit();
      return changes.take().length;
    },
    outputs: () => exported.size(),
    checksum: () => checksumOf(outputsOf(exported)),
  };
}

function* outputsOf(exported: {
  partitions(): Iterable<string>;
  entries(partition: string): Iterable<{ readonly value: MergedService }>;
}): Iterable<readonly [string, MergedService]> {
  for (const partition of exported.partitions()) {
    for (const { value } of exported.entries(partition)) yield [partition, value];
  }
}
