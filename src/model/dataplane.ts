import type { JsonObject } from './json.ts';

/** A data plane proxy of Kuma with defaults resolved, from a declaration, a live Dataplane or a Pod. */
export interface Dataplane {
  readonly mesh: string;
  /** Kuma's name: in Kubernetes `NAME.NAMESPACE`. */
  readonly name: string;
  /** It has no inbounds then. */
  readonly gateway?: Gateway;
  /** In the order in which they are written. */
  readonly inbounds: readonly Inbound[];
  /** Zone ingresses and egresses, in the order in which they are written. */
  readonly listeners: readonly ZoneListener[];
}

/** The gateway that a data plane is. */
export interface Gateway {
  readonly type: 'delegated' | 'builtin';
  /** The value of the tag `kuma.io/service`; empty: it has none. */
  readonly service: string;
  readonly tags: Tags;
}

/** The tags of an inbound or a gateway. */
export type Tags = Readonly<Record<string, string>>;

/** One port of a data plane behind which an application serves. */
export interface Inbound {
  /** The address that others use: the advertised address, else that of the inbound, else that of the data plane. */
  readonly address: string;
  readonly port: number;
  /** The application behind it. */
  readonly workload: { readonly address: string; readonly port: number };
  /** The value of the tag `kuma.io/service`; empty: it has none. */
  readonly service: string;
  readonly tags: Tags;
  readonly state: InboundState;
  /** `health.ready`; absent: it is not declared, which counts as healthy. */
  readonly ready?: boolean;
  /** As written: a control plane has Envoy probe the application. */
  readonly serviceProbe?: JsonObject;
}

export type InboundState = 'Ready' | 'NotReady' | 'Ignored';

/** A listener of a zone proxy. */
export interface ZoneListener {
  readonly type: 'ZoneIngress' | 'ZoneEgress';
  readonly address: string;
  readonly port: number;
  readonly state: 'Ready' | 'NotReady';
}

/** Whether an inbound is in the load-balancing set as far as its declaration says; an ignored one counts nowhere. */
export function declaredReadiness({ state, ready }: Inbound): 'ready' | 'notReady' | 'ignored' {
  if (state === 'Ignored') return 'ignored';
  return state === 'Ready' && ready !== false ? 'ready' : 'notReady';
}
