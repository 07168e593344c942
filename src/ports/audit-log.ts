import type { JsonObject } from '../model/json.ts';
import type { Role } from '../model/relay-config.ts';

/** One line of the log of what people did, or were refused. */
export interface AuditEntry {
  /** Of the request: what was asked and what became of it have the same. */
  readonly id: string;
  /** RFC 3339, in milliseconds. */
  readonly at: string;
  /** `asked`: it is about to be done. `done`, `refused`, `failed`: what became of it. */
  readonly stage: 'asked' | 'done' | 'refused' | 'failed';
  /** Empty: nobody that is known. */
  readonly who: string;
  readonly role: Role | null;
  /** How `who` was proven; `none`: only said, by somebody on this machine. */
  readonly proof: 'token' | 'certificate' | 'none';
  /** Address of the caller. */
  readonly from: string;
  /** What was asked: `approvals`, `clusters/east/replace`. */
  readonly act: string;
  /** With which words. Never a secret: no request holds one. */
  readonly details: JsonObject;
  /** Why not; empty if it was done. */
  readonly message: string;
}

/** Keeps what people did. Nothing in it is ever changed or removed by this program. */
export interface AuditLog {
  /** Durable when it resolves. Rejects if it is not: what is not noted must not be done. */
  append(entry: AuditEntry): Promise<void>;
  /** The newest `limit` entries, oldest first; those that cannot be read are left out. Rejects if the log cannot be read. */
  tail(limit: number): Promise<readonly AuditEntry[]>;
  /** Why nothing could be noted just now; undefined if it could. */
  trouble(): Promise<string | undefined>;
  close(): Promise<void>;
}
