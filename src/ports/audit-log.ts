import type { Role } from '../model/fleet/relay-config.ts';
import type { JsonObject } from '../model/text/json.ts';

/** One entry of the audit log. */
export interface AuditEntry {
  /** Id of the request, whose entries have the same, or of what an agent reports. */
  readonly id: string;
  /** RFC 3339, in milliseconds. */
  readonly at: string;
  /**
   * `asked`: before the act is carried out. Its outcome, as it was answered: `done`, and durable; `refused`; `failed`; `unknown`, if the
   * act could not be confirmed and may be in force.
   */
  readonly stage: 'asked' | 'done' | 'refused' | 'failed' | 'unknown';
  /** Name of the caller; empty: unknown. What an agent has done by itself: `agent CLUSTER`. */
  readonly who: string;
  readonly role: Role | null;
  /**
   * Proof of `who`. `local`: a caller who can read the server's own token or open its Unix socket has stated it. `none`: the
   * caller is unknown, or it is the report of an agent.
   */
  readonly proof: 'token' | 'certificate' | 'local' | 'none';
  /** Address of the caller, or `unix socket`; empty: an agent. */
  readonly from: string;
  /** `approvals`, `clusters/east/replace`, `clusters/east/remediate-webhook`. */
  readonly act: string;
  /** Fields of the request. No request has a secret. */
  readonly details: JsonObject;
  /** Why it was not done; empty: it was. */
  readonly message: string;
}

/** The log of acts of people, and of what agents change of others' objects. Entries are never changed; the oldest are removed. */
export interface AuditLog {
  /** Resolves when the entry is durable. Rejects if it cannot be written: then the act must not be carried out. */
  append(entry: AuditEntry): Promise<void>;
  /** Returns the newest `limit` entries, oldest first, without damaged ones. Rejects if the log cannot be read. */
  tail(limit: number): Promise<readonly AuditEntry[]>;
  /** Returns why no entry could be written now; undefined: it could. */
  problem(): Promise<string | undefined>;
  close(): Promise<void>;
}
