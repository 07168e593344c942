import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { counted } from '../../model/text/messages.ts';
import { printable, printablePath } from '../../model/text/printable.ts';
import { styled, type TextOutput, toneOf, writeDiagnostics } from '../output.ts';
import type { ShownFindings } from './findings.ts';
import { writeSummary } from './summary.ts';

/**
 * Writes the findings as text: on a terminal grouped by file, with the line of each; otherwise one line each in the form
 * that editors and scripts parse.
 */
export async function writeText(out: TextOutput, shown: ShownFindings): Promise<void> {
  const { diagnostics, notEvaluated, fixed } = shown.report;
  if (out.isTerminal) await writeGroups(out, shown);
  else writeDiagnostics(out, diagnostics);
  for (const { path, findings } of fixed) out.write(`${printablePath(path)}: ${counted(findings, 'finding')} fixed\n`);
  for (const sentence of notEvaluated) out.write(`${styled(out, 'faint', `not checked: ${printable(sentence)}`)}\n`);
  writeSummary(out, shown);
  const fixable = diagnostics.filter(({ fix }) => fix !== undefined).length;
  if (out.isTerminal && fixable > 0) {
    out.write(`${styled(out, 'faint', `${counted(fixable, 'finding')} can be fixed: fleetrelay validate --fix`)}\n`);
  }
  const [first] = diagnostics;
  if (out.isTerminal && first !== undefined) {
    out.write(`${styled(out, 'faint', `about a code: fleetrelay explain ${first.code}`)}\n`);
  }
}

async function writeGroups(out: TextOutput, { report }: ShownFindings): Promise<void> {
  const { excerptOf } = await import('./excerpt.ts');
  for (const [path, found] of Map.groupBy(report.diagnostics, ({ at }) => at?.path ?? '')) {
    if (path !== '') out.write(`${styled(out, 'strong', printablePath(path))}\n`);
    for (const diagnostic of found) {
      writeFinding(out, diagnostic);
      const { line, column } = diagnostic.at ?? {};
      const text = report.excerpts.get(`${path}:${line}`);
      if (text === undefined || column === undefined) continue;
      const margin = ' '.repeat(String(line).length);
      const excerpt = excerptOf(text, column, out.columns - margin.length - 7);
      out.write(`    ${styled(out, 'faint', `${line} │`)} ${excerpt.text}\n`);
      out.write(
        `    ${styled(out, 'faint', `${margin} │`)} ${styled(out, toneOf(diagnostic.severity), excerpt.marks)}\n`,
      );
    }
    out.write('\n');
  }
}

function writeFinding(out: TextOutput, { severity, code, message, hint, at }: Diagnostic): void {
  const place = [at?.line, at?.column].filter((part) => part !== undefined).join(':');
  const where = place === '' ? '' : `${place} `;
  out.write(`  ${where}${styled(out, toneOf(severity), severity)} ${code}: ${printable(message)}\n`);
  if (hint !== undefined) out.write(`    ${printable(hint)}\n`);
}
