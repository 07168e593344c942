import type { DecodedFile } from '../../model/fleet/desired.ts';
import { diagnosticOf, type FindingReason, sentenceOf } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { given } from '../../model/values/given.ts';

/** A file that exists and cannot be read. `what` continues the sentence after the file's name. */
export function unreadableFile(
  path: string,
  blob: string,
  reason: FindingReason,
  what: string,
  hint?: string,
  line?: number,
): DecodedFile {
  const message = `${quote(path)} ${what}`;
  const at = { path, ...given({ line }) };
  const diagnostic = diagnosticOf({ severity: 'error', reason, message, at, ...given({ hint }) });
  const reading = { readable: false, blob, findings: [sentenceOf(diagnostic)] } as const;
  return { reading, size: { documents: 0, nodes: 0, expandedBytes: 0 }, diagnostics: [diagnostic] };
}
