import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { type Authorities, keysText, readAuthorities, rootsText } from './authorities.ts';
import { seal, unseal } from './seal.ts';

/** Where replicas share their authorities in the store, sealed with the relay secret. */
export const AUTHORITY_KEY = 'trust/ca';

/** What the store has of authorities. */
export interface SharedAuthorities {
  readonly authorities: Authorities;
  /** Of the record; null: there is none. */
  readonly version: string | null;
  /** It was sealed with the first of the secrets. */
  readonly newest: boolean;
}

/** A record of authorities that none of this replica's secrets opens. */
export class OtherSecretError extends Error {
  override readonly name = 'OtherSecretError';
}

/** Authorities in a store that several replicas share. */
export interface AuthorityRecord {
  /** Rejects if the store cannot be asked, and with an {@link OtherSecretError}. */
  read(): Promise<SharedAuthorities>;
  /** Replaces what was read; `conflict`: somebody else was first. */
  write(authorities: Authorities, before: SharedAuthorities): Promise<'written' | 'conflict'>;
  /** Calls back when the record may be another, or may be gone. */
  watch(changed: () => void): () => void;
}

/** `secrets`: any of them opens, the first seals. */
export function createAuthorityRecord(store: SnapshotStore, secrets: readonly Uint8Array[]): AuthorityRecord {
  const [first] = secrets;
  if (first === undefined) throw new Error('sharing the certificate authority needs a relay secret');
  return {
    async read() {
      const record = await store.get(AUTHORITY_KEY);
      if (record === undefined) return { authorities: [], version: null, newest: true };
      const opened = unseal(secrets, AUTHORITY_KEY, record.value);
      if (opened === undefined) {
        throw new OtherSecretError(
          `the certificate authority in the store (${AUTHORITY_KEY}) was sealed with another relay secret: give every replica the same one; if that secret is lost, delete the record, and agents must be given the new certificate authority`,
        );
      }
      const text = Buffer.from(opened.bytes).toString('utf8');
      return { authorities: readAuthorities(text, text), version: record.version, newest: opened.secret === 0 };
    },
    write(authorities, { version }) {
      const text = Buffer.from(rootsText(authorities) + keysText(authorities));
      return store.write([{ key: AUTHORITY_KEY, value: seal(first, AUTHORITY_KEY, text), ifVersion: version }]);
    },
    watch: (changed) =>
      store.watch((event) => {
        if (event.type === 'lost' || event.type === 'up') changed();
        else if (event.type === 'changed' && event.keys.includes(AUTHORITY_KEY)) changed();
      }),
  };
}
