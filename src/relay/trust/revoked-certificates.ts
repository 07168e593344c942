import type { AgentCertificate } from '../session.ts';
import { openJoinedRecord, type RecordDeps, type RecordKind } from './joined-record.ts';

/** Name of the file with the revocations in the trust folder of a server. */
export const REVOKED_FILE = 'revoked-certificates.json';

/** A serial number as certificates show it: lower-case hex without separators. */
const SERIAL = /^[0-9a-f]{1,40}$/;

/**
 * When a revocation was made, in milliseconds since 1970, by `serial/HEX` or `cluster/NAME`. It is kept for good: a certificate of
 * another authority may live for any time.
 */
const revocations: RecordKind<number> = {
  storeKey: 'trust/revoked-certificates',
  what: 'the revoked certificates',
  repair: 'restore it, or remove it and revoke again every certificate that was revoked',
  read: (json) => (Number.isSafeInteger(json) && Number(json) > 0 ? Number(json) : undefined),
  join: Math.max,
};

/** Client certificates that a person has revoked. */
export interface RevokedCertificates {
  has(cluster: string, certificate: AgentCertificate): boolean;
  /**
   * Revokes one certificate of a cluster, or all that were issued for it until now. Resolves when that is durable and shared with
   * the reachable replicas; rejects with a text for people, and then nothing has changed.
   */
  revoke(cluster: string, serial: string | undefined): Promise<void>;
  /** Calls `changed` after each revocation, until the returned function is called. */
  watch(changed: () => void): () => void;
}

/** Revocations that follow the store until they are stopped. */
export interface OpenedRevokedCertificates extends RevokedCertificates {
  stop(): Promise<void>;
}

/** Opens the record of revoked certificates. Rejects with a text for people if it cannot be read. */
export async function openRevokedCertificates(deps: RecordDeps): Promise<OpenedRevokedCertificates> {
  const record = await openJoinedRecord(deps, revocations);
  return {
    has: (cluster, { serial, issuedAt }) =>
      record.get(`serial/${serial}`) !== undefined || issuedAt <= (record.get(`cluster/${cluster}`) ?? 0),
    revoke: (cluster, serial) =>
      record.add(() => new Map([[serial === undefined ? `cluster/${cluster}` : `serial/${serial}`, deps.clock.now()]])),
    watch: record.watch,
    stop: record.stop,
  };
}

/** A serial number as a person writes it (any case, with or without colons); undefined: it is none. */
export function parseSerial(text: string): string | undefined {
  const serial = text.replaceAll(':', '').toLowerCase();
  return SERIAL.test(serial) ? serial : undefined;
}
