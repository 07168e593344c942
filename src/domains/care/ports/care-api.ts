import type { JsonObject } from '../../../model/text/json.ts';

/**
 * What an agent asks its cluster for the care of Shoots. No call waits for another request of the agent, and none rejects
 * because of what the cluster answers.
 */
export interface CareApi {
  /**
   * Asks the API server about its own health. The answer may have any HTTP status; the text of its body is cut at
   * {@link MOST_HEALTH_TEXT} characters. Absent: the cluster has no API server.
   */
  readonly askHealth?: (path: '/healthz' | '/readyz?verbose', timeoutMs: number) => Promise<HealthAnswer>;
  /** Reads the Leases of these Namespaces. */
  leases(namespaces: readonly string[]): Promise<FoundLeases>;
  /** The status of a CertificateReport about the cluster's own authorities; undefined: the cluster does not answer. */
  certificates(): Promise<JsonObject | undefined>;
  /** Tests a port-forward to the tunnel Pod. Absent: the cluster has no tunnel. */
  readonly tunnel?: (timeoutMs: number) => Promise<TunnelTest>;
  /**
   * Calls `hint` when the API server has left another request without an answer, or when Leases may have changed without
   * being asked for. Hints can be missing or superfluous. The returned function ends the watch.
   */
  watch(hint: (changed: 'apiServer' | 'leases') => void): () => void;
}

/** Longest text of {@link HealthAnswer.text}. */
export const MOST_HEALTH_TEXT = 65_536;

/** `text`: the body, from its beginning; `cut`: the answer has more. */
export type HealthAnswer =
  | { readonly type: 'answered'; readonly status: number; readonly text: string; readonly cut: boolean }
  | { readonly type: 'unanswered'; readonly error: string };

/** The Leases of the Namespaces that could be read. */
export interface FoundLeases {
  readonly leases: readonly JsonObject[];
  /** Namespaces that are refused, each with why. */
  readonly refused: Readonly<Record<string, string>>;
  /** Why the cluster gives no complete answer now; then the other fields are not complete. */
  readonly unanswered?: string;
}

/**
 * `none`: there is no running tunnel Pod, or the right for the test is missing. `unanswered`: the API server does not answer,
 * which says nothing about the tunnel.
 */
export type TunnelTest =
  | { readonly type: 'none' | 'unanswered' }
  | { readonly type: 'connected'; readonly pod: string }
  | { readonly type: 'failed'; readonly pod: string; readonly error: string };
