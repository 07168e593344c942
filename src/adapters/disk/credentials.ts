import { join } from 'node:path';
import { errorText } from '../../model/text/messages.ts';
import type { CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import { makeFoldersSync } from './folders.ts';
import { openRecordLog } from './record-log.ts';
import { asObject, asText } from './stored-json.ts';

const FORMAT = 'fleetrelay.dev/credentials/v1';

/**
 * Stores credentials in the file `credentials` of a folder (created with mode 0700), readable for its owner only. One
 * process uses it at a time. A damaged file is moved aside at the next save.
 */
export function createDiskCredentials(
  { log }: { readonly log: Log },
  { folder }: { readonly folder: string },
): CredentialStore {
  const place = join(folder, 'credentials');
  return {
    place,
    async load() {
      const { content } = openRecordLog(place, FORMAT);
      if (content.type === 'missing') return undefined;
      try {
        if (content.type === 'damaged') throw new Error(content.message);
        const { key, certificate, roots, requestedKey } = asObject(content.records[0]);
        return {
          key: asText(key),
          certificate: asText(certificate),
          roots: asText(roots),
          requestedKey: asText(requestedKey),
        };
      } catch (error) {
        log.error('the stored credentials are damaged and are ignored', { place, reason: errorText(error) });
        return undefined;
      }
    },
    async save(credentials) {
      makeFoldersSync(folder, { mode: 0o700 });
      const file = openRecordLog(place, FORMAT);
      try {
        await file.rewrite(credentials);
      } finally {
        file.close();
      }
    },
  };
}
