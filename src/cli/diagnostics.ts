import { type Diagnostic, displayLocation } from '../model/diagnostic.ts';
import type { TextOutput } from './command.ts';
import { printable } from './output.ts';
import { styled } from './style.ts';

/** Writes each diagnostic on a line: `path:line:column: error CODE: message (hint)`. */
export function writeDiagnostics(out: TextOutput, diagnostics: readonly Diagnostic[]): void {
  for (const { severity, code, message, hint, at } of diagnostics) {
    const where = at === undefined ? '' : `${styled(out, 'strong', printable(displayLocation(at)))}: `;
    const tone = severity === 'error' ? 'bad' : 'warn';
    const more = hint === undefined ? '' : styled(out, 'faint', ` (${printable(hint)})`);
    out.write(`${where}${styled(out, tone, severity)} ${printable(code)}: ${printable(message)}${more}\n`);
  }
}
