import type { Engine } from '../../src/engine/graph.ts';
import type { Loop } from '../../src/runtime/loop.ts';

/** Where the status of what is declared goes. */
export interface Target {
  /** The source that declares it. */
  readonly source: string;
  /** The file that the declaration of this number stands in. */
  path(at: number): string;
  /** Everything is written that differs after the last commit; gives how much. */
  write(): Promise<number>;
  /** What was written is seen; gives how much is written because of it. */
  comesBack(): Promise<number>;
}

/** What a target works with. */
export interface TargetDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly objects: number;
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
