import { type JsonValue, objectsOf, textOf } from '../../../model/text/json.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';

/** Whether a proxy is connected to its control plane; it has been at least once. */
export type StreamState = {
  readonly connected: boolean;
  /** When `connected` last changed, in milliseconds since 1970; absent: it is not known. */
  readonly since?: number;
  /** Why its Envoy has refused the endpoints that it was sent last; absent: it has not. */
  readonly rejected?: string;
  /** Why its last stream has ended; absent: one is open, or it is not known. */
  readonly ended?: string;
};

/**
 * The state of a proxy by the subscriptions of its DataplaneInsight: connected if one of them is open. Undefined: there is
 * none. Values of the wrong type count as absent.
 */
export function streamOfSubscriptions(subscriptions: JsonValue | undefined): StreamState | undefined {
  const read = objectsOf(subscriptions).map((one) => ({
    connect: textOf(one.connectTime),
    disconnect: textOf(one.disconnectTime),
  }));
  const begun = read.filter(({ connect }) => connect !== '');
  if (begun.length === 0) return undefined;
  const open = begun.filter(({ disconnect }) => disconnect === '');
  const connected = open.length > 0;
  const times = connected ? open.map(({ connect }) => connect) : begun.map(({ disconnect }) => disconnect);
  const known = times.flatMap((time) => parseRfc3339(time) ?? []);
  return known.length === 0 ? { connected } : { connected, since: Math.max(...known) };
}

/** Health as an Envoy reported it last. */
export type HealthReport = {
  readonly envoyHealthy: boolean;
  /** When `envoyHealthy` last changed, in milliseconds since 1970. */
  readonly envoySince: number;
  /** Of applications, by `ADDRESS:PORT`. */
  readonly workloads: Readonly<Record<string, boolean>>;
  /** When its Envoy last reported something new, in milliseconds since 1970; absent: it is not known. */
  readonly newsAt?: number;
};
