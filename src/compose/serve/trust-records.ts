import { join } from 'node:path';
import { privateFile } from '../../adapters/tls/files.ts';
import { ACCEPTANCES_FILE, type Acceptances, openAcceptances } from '../../relay/trust/acceptances.ts';
import type { RecordDeps } from '../../relay/trust/joined-record.ts';
import {
  openRevokedCertificates,
  REVOKED_FILE,
  type RevokedCertificates,
} from '../../relay/trust/revoked-certificates.ts';
import { GENERATIONS_FILE, openTokenGenerations, type TokenGenerations } from '../../relay/trust/tokens.ts';
import { openUsedTokens, USED_TOKENS_FILE, type UsedTokens } from '../../relay/trust/used-tokens.ts';

/** The records of tokens, certificates and waiting agents, each in a file of the trust folder and in the shared store. */
export interface TrustRecords {
  readonly generations: TokenGenerations;
  readonly usedTokens: UsedTokens;
  readonly revoked: RevokedCertificates;
  readonly acceptances: Acceptances;
}

/** Opens all records of the trust folder. Rejects with a text for people if one cannot be read. */
export async function openTrustRecords(
  folder: string,
  deps: Omit<RecordDeps, 'file'>,
): Promise<{ readonly parts: TrustRecords; stop(): Promise<void> }> {
  const at = (name: string): RecordDeps => ({ ...deps, file: privateFile(join(folder, name)) });
  // After a failure the records that were opened are closed.
  await using opened = new AsyncDisposableStack();
  const stopped = <Opened extends { stop(): unknown }>(record: Opened): Opened => {
    opened.defer(async () => void (await record.stop()));
    return record;
  };
  const parts = {
    generations: stopped(await openTokenGenerations(at(GENERATIONS_FILE))),
    usedTokens: stopped(await openUsedTokens(at(USED_TOKENS_FILE))),
    revoked: stopped(await openRevokedCertificates(at(REVOKED_FILE))),
    acceptances: stopped(await openAcceptances(at(ACCEPTANCES_FILE))),
  };
  const started = opened.move();
  return { parts, stop: () => started.disposeAsync() };
}
