import type { JsonObject } from '../../../model/text/json.ts';

/** A declared data plane. */
export interface DeclaredDataplaneView {
  readonly mesh: string;
  readonly name: string;
  /** As declared, with the names of fields in camelCase. */
  readonly spec: JsonObject;
  /** Where its Envoy connects to this server; null: the server serves none. */
  readonly xds: XdsAddressView | null;
}

/** The listener for Envoys. */
export interface XdsAddressView {
  /** A host name or an IP address, maybe of all addresses (`0.0.0.0`, `::`). */
  readonly address: string;
  readonly port: number;
  /** Without TLS no token is shown either. */
  readonly tls: boolean;
}
