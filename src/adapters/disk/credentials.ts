import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../model/messages.ts';
import type { AgentCredentials, CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import { openRecordLog } from './record-log.ts';
import { asObject, asText } from './stored-json.ts';

/** The file is one checked record: a partly written one is damaged. */
const HEADER = { format: 'fleetrelay.dev/credentials', version: 1 };

/**
 * Credentials in the file `credentials` of a folder (created with mode 0700), readable for its owner only. One process uses
 * it at a time. A damaged file is moved aside at the next save.
 */
export function createDiskCredentials(
  { log }: { readonly log: Log },
  { folder }: { readonly folder: string },
): CredentialStore {
  const place = join(folder, 'credentials');
  return {
    place,
    async load() {
      const { content } = openRecordLog(place);
      switch (content.type) {
        case 'missing':
          return undefined;
        case 'damaged':
          return ignored(content.message);
        case 'found':
          try {
            return read(content.records);
          } catch (error) {
            return ignored(errorText(error));
          }
      }
    },
    async save(credentials) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const { log: file } = openRecordLog(place);
      try {
        await file.rewrite([{ ...HEADER, ...credentials }]);
      } finally {
        file.close();
      }
    },
  };

  function ignored(reason: string): undefined {
    log.error('the stored credentials are damaged and are ignored', { place, reason });
    return undefined;
  }
}

function read([record]: readonly unknown[]): AgentCredentials {
  const { format, version, key, certificate, roots } = asObject(record);
  if (format !== HEADER.format || version !== HEADER.version) throw new Error('unknown format');
  return { key: asText(key), certificate: asText(certificate), roots: asText(roots) };
}
