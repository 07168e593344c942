import type { JsonValue } from '../../../model/text/json.ts';

/** What a probe asks an application, without its address. */
export type ProbeTarget = HttpTarget | TcpTarget | GrpcTarget;

/** A GET request is answered with a status from 200 to 399. */
export interface HttpTarget {
  readonly type: 'http';
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  readonly scheme: 'HTTP' | 'HTTPS';
  /** The `Host` that the probe names; absent: address and port of the application. */
  readonly host?: string;
}

/** A connection can be opened. */
export interface TcpTarget {
  readonly type: 'tcp';
  readonly port: number;
}

/** The service of `grpc.health.v1.Health` says SERVING. */
export interface GrpcTarget {
  readonly type: 'grpc';
  readonly port: number;
  /** Empty: the server as a whole. */
  readonly service: string;
}

/** The number of a port; undefined if it is none from 0 to 65535. */
export function portOf(value: JsonValue | undefined): number | undefined {
  const port = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : undefined;
}
