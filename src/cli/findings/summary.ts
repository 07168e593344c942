import type { ValidationReport } from '../../compose/validate/report.ts';
import { findings } from '../../model/fleet/findings.ts';
import { compareText } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import { styled, type TextOutput } from '../output.ts';
import { type ShownFindings, severitiesOf } from './findings.ts';

/** Counts documents by outcome, and findings by code. */
export function countsOf({ resources, diagnostics }: ValidationReport) {
  const states = { valid: 0, invalid: 0, skipped: 0, noSchema: 0 };
  for (const { state } of resources) states[state] += 1;
  const codes = [...Map.groupBy(diagnostics, ({ code }) => code)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([code, found]) => [code, found.length] as const);
  return { documents: { total: resources.length, ...states }, codes: Object.fromEntries(codes) };
}

/** Writes what was not judged, what was fixed and how many findings there are, a line each. */
export function writeSummary(out: TextOutput, { report, withSummary }: ShownFindings): void {
  const { errors, warnings } = severitiesOf(report);
  const { documents, codes } = countsOf(report);
  if (withSummary) {
    const { valid, invalid, skipped, noSchema } = documents;
    out.write(`documents: ${valid} valid, ${invalid} invalid, ${skipped} skipped, ${noSchema} without schema\n`);
    const meanings = Object.values(findings).map(({ code, meaning }) => [code, meaning] as const);
    const meaningOf = new Map<string, string>(meanings);
    for (const [code, amount] of Object.entries(codes)) {
      out.write(`${String(amount).padStart(6)} × ${code}: ${meaningOf.get(code) ?? ''}\n`);
    }
  }
  const tone = errors > 0 ? 'bad' : warnings > 0 ? 'warn' : 'good';
  const counts = styled(out, tone, `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
  out.write(`${counts} in ${counted(documents.total, 'document')} of ${counted(report.files, 'file')}\n`);
}
