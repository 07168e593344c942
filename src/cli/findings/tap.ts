import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { printable, printableJson } from '../../model/text/printable.ts';
import type { TextOutput } from '../output.ts';
import { type ShownFindings, type TestCase, testCases } from './findings.ts';

/** Writes TAP 14, a test point for each document. https://testanything.org/tap-version-14-specification.html */
export function writeTap(out: TextOutput, shown: ShownFindings): void {
  const points = [...testCases(shown)].flatMap(([path, cases]) => cases.map((each) => ({ path, ...each })));
  out.write(`TAP version 14\n1..${points.length}\n`);
  for (const [index, point] of points.entries()) writePoint(out, index + 1, point);
}

function writePoint(out: TextOutput, number: number, point: TestCase & { readonly path: string }): void {
  const { path, line, name, skipped, findings } = point;
  const isFailure = findings.some(({ severity }) => severity === 'error');
  const place = line === undefined || line === 0 ? path : `${path}:${line}`;
  const directive = isFailure || skipped === undefined ? '' : ` # SKIP ${description(skipped)}`;
  out.write(`${isFailure ? 'not ok' : 'ok'} ${number} - ${description(`${place} ${name}`)}${directive}\n`);
  if (findings.length === 0) return;
  out.write('  ---\n  findings:\n');
  // Each line is JSON, which is YAML too.
  for (const finding of findings) out.write(`    - ${printableJson(detailsOf(finding))}\n`);
  out.write('  ...\n');
}

function detailsOf({ severity, code, message, hint, at }: Diagnostic) {
  return { severity, code, line: at?.line, column: at?.column, message, hint };
}

function description(text: string): string {
  return printable(text).replaceAll(/[\\#]/g, (found) => `\\${found}`);
}
