import type { DecodedFile } from '../../model/desired.ts';
import { type Diagnostic, diagnosticOf, sentenceOf } from '../../model/diagnostic.ts';
import type { FindingReason } from '../../model/finding-codes.ts';
import { quote } from '../../model/ids.ts';

/** A file that is there and cannot be read. `what` goes on after the file's name. */
export function unreadableFile(
  path: string,
  blob: string,
  reason: FindingReason,
  what: string,
  hint?: string,
  line?: number,
): DecodedFile {
  const message = `${quote(path)} ${what}`;
  const at = { path, ...(line === undefined ? {} : { line }) };
  const diagnostic = diagnosticOf({ severity: 'error', reason, message, at, ...(hint === undefined ? {} : { hint }) });
  return { reading: { readable: false, blob, findings: [sentenceOf(diagnostic)] }, diagnostics: [diagnostic] };
}

/** A warning about a file. `what` goes on after the file's name. */
export function warningAt(path: string, reason: FindingReason, what: string): Diagnostic {
  return diagnosticOf({ severity: 'warning', reason, message: `${quote(path)} ${what}`, at: { path } });
}
