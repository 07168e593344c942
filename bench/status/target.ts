import type { Engine } from '../../src/engine/graph.ts';
import type { SourceName } from '../../src/model/fleet/ids.ts';
import type { Source } from '../../src/ports/source.ts';
import type { Loop } from '../../src/runtime/loop.ts';

/** A sink for the statuses of declared objects. */
export interface Target {
  /** The source that declares it. */
  readonly source: string;
  /** Path of the file that declares the object of this number. */
  path(at: number): string;
  /** Writes every status that differs after the last commit. Resolves with the number of writes. */
  write(): Promise<number>;
  /** Reads the written statuses back. Resolves with the number of writes that this causes. */
  comesBack(): Promise<number>;
}

/** What a target works with. */
export interface TargetDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly objects: number;
}

/** Returns a source that reads nothing: the benchmark stages what it declares. */
export function silentSource(name: SourceName): Source {
  return {
    name,
    address: 'bench',
    start: () => undefined,
    trigger: () => undefined,
    accept: () => false,
    read: async () => undefined,
    stop: async () => undefined,
  };
}

/** A Dataplane with this number, as it is in Kubernetes. */
export function dataplane(at: number): string {
  return `apiVersion: kuma.io/v1alpha1
kind: Dataplane
metadata:
  name: web-${at}
  namespace: shop
  labels:
    kuma.io/mesh: default
mesh: default
spec:
  networking:
    address: 10.0.${at >> 8}.${at & 255}
    inbound:
      - port: 8080
        tags:
          kuma.io/service: web
`;
}
