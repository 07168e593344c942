import type { DecodedFile } from '../../model/desired.ts';
import { type Diagnostic, sentenceOf } from '../../model/diagnostic.ts';
import { quote } from '../../model/ids.ts';

/** A file that is there and cannot be read. `what` goes on after the file's name. */
export function unreadableFile(
  path: string,
  blob: string,
  reason: string,
  what: string,
  hint?: string,
  line?: number,
): DecodedFile {
  const message = `${quote(path)} ${what}`;
  const at = { path, ...(line === undefined ? {} : { line }) };
  const diagnostic: Diagnostic = { severity: 'error', reason, message, at, ...(hint === undefined ? {} : { hint }) };
  return { reading: { readable: false, blob, findings: [sentenceOf(diagnostic)] }, diagnostics: [diagnostic] };
}

/** A warning about a file. `what` goes on after the file's name. */
export function warningAt(path: string, reason: string, what: string): Diagnostic {
  return { severity: 'warning', reason, message: `${quote(path)} ${what}`, at: { path } };
}
