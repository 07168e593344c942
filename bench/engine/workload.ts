/**
 * The workload: 1,000 clusters with 200 services each. Every host lives in 5 clusters, is merged into one global
 * service, and is exported to 10 clusters: 200,000 inputs, 40,000 merged, 400,000 outputs.
 */
export const clusterCount = 1000;
export const servicesPerCluster = 200;
export const homesPerHost = 5;
export const exportsPerHost = 10;
export const serviceCount = clusterCount * servicesPerCluster;
export const hostCount = serviceCount / homesPerHost;

/** A service as one cluster has it. */
export interface Service {
  readonly addresses: readonly string[];
  readonly port: number;
}

/** What is desired of a host: where it is looked for, and where it goes. */
export interface Host {
  readonly homes: readonly string[];
  readonly exports: readonly string[];
}

/** A host's services of all its clusters in one. */
export interface MergedService {
  readonly host: string;
  readonly endpoints: readonly Service[];
}

/** All inputs, built before anything is measured. */
export interface Inputs {
  readonly clusters: readonly string[];
  readonly hosts: readonly { readonly name: string; readonly value: Host }[];
  /** The host's services, in the order of its homes. */
  readonly services: readonly (readonly Service[])[];
  /** Which hosts live in a cluster: the order in which its agent lists its services. */
  readonly residents: ReadonlyMap<string, readonly { readonly host: number; readonly home: number }[]>;
}

/** How many different distances the homes of a host have: with the clusters, 5,000 different sets of homes. */
const strides = 5;

/** Builds the inputs, the same ones each time, as plain as if they had come over a wire. */
export function buildInputs(): Inputs {
  const clusters = Array.from({ length: clusterCount }, (_none, at) => `cluster-${String(at).padStart(4, '0')}`);
  const pick = (at: number): string => clusters[at % clusterCount] as string;
  const hosts = Array.from({ length: hostCount }, (_none, at) => {
    const stride = 1 + (Math.floor(at / clusterCount) % strides);
    return {
      name: `host-${String(at).padStart(5, '0')}.example`,
      value: {
        homes: Array.from({ length: homesPerHost }, (_home, step) => pick(at + step * stride)).sort(),
        exports: Array.from({ length: exportsPerHost }, (_export, step) => pick(at * 7 + step * 101)).sort(),
      },
    };
  });
  const services = hosts.map((_host, at) =>
    Array.from({ length: homesPerHost }, (_home, home) => service(at, home, 0)),
  );
  const residents = new Map(clusters.map((cluster) => [cluster, [] as { host: number; home: number }[]]));
  hosts.forEach(({ value }, host) => {
    value.homes.forEach((cluster, home) => {
      residents.get(cluster)?.push({ host, home });
    });
  });
  return { ...plain({ clusters, hosts, services }), residents };
}

/** A copy without what building leaves behind (strings in pieces, room to grow), which is none of an engine's state. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/** A service value; another `version` is another value. */
export function service(host: number, home: number, version: number): Service {
  return { addresses: [`10.${host >> 8}.${host & 255}.${home + 1}`], port: 8000 + version };
}

/** One update: a service of one host in one of its homes gets another port. */
export interface Update {
  readonly host: number;
  readonly home: number;
  readonly version: number;
}

/** Updates in an order that looks random and is the same each time. */
export function buildUpdates(count: number, firstVersion: number): readonly Update[] {
  let state = 12345 + firstVersion;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, (_none, at) => ({
    host: Math.floor(next() * hostCount),
    home: Math.floor(next() * homesPerHost),
    version: firstVersion + at,
  }));
}

/** What an engine under measurement can do. */
export interface Subject {
  /** One cluster's services enter. */
  load(cluster: string): void;
  /** One service changes; says how many outputs did. */
  update(update: Update): number;
  /** Number of outputs in all. */
  outputs(): number;
  /** Something that is equal for equal outputs. */
  checksum(): number;
}

/** A sum over all outputs that does not depend on their order. */
export function checksumOf(outputs: Iterable<readonly [cluster: string, service: MergedService]>): number {
  let sum = 0;
  for (const [cluster, { host, endpoints }] of outputs) {
    let part = Number(cluster.slice(-4)) + 7 * Number(host.slice(5, 10));
    for (const { port } of endpoints) part += port;
    sum = (sum + part) % 1_000_000_007;
  }
  return sum;
}
