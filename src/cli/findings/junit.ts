import { displayDiagnostic } from '../../model/fleet/diagnostic.ts';
import type { TextOutput } from '../output.ts';
import { type ShownFindings, type TestCase, testCases } from './findings.ts';

/** Writes JUnit XML: a suite for each file, a case for each document. Times are left out: documents are not timed. */
export function writeJunit(out: TextOutput, shown: ShownFindings): void {
  const suites = testCases(shown);
  const all = countsOf([...suites.values()].flat());
  out.write('<?xml version="1.0" encoding="UTF-8"?>\n');
  out.write(`<testsuites name="fleetrelay validate"${all}>\n`);
  for (const [path, cases] of suites) {
    out.write(`  <testsuite name="${xml(path)}"${countsOf(cases)}>\n`);
    for (const each of cases) writeCase(out, path, each);
    out.write('  </testsuite>\n');
  }
  out.write('</testsuites>\n');
}

function countsOf(cases: readonly TestCase[]): string {
  const failures = cases.filter(isFailure).length;
  const skipped = cases.filter((each) => !isFailure(each) && each.skipped !== undefined).length;
  return ` tests="${cases.length}" failures="${failures}" errors="0" skipped="${skipped}"`;
}

function isFailure({ findings }: TestCase): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

function writeCase(out: TextOutput, path: string, { name, line, skipped, findings }: TestCase): void {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  const place = line === undefined || line === 0 ? '' : ` line="${line}"`;
  const body = [
    ...(errors.length === 0 && skipped !== undefined ? [`      <skipped message="${xml(skipped)}"/>\n`] : []),
    ...errors.map(
      (error) =>
        `      <failure type="${error.code}" message="${xml(error.message)}">${xml(displayDiagnostic(error))}</failure>\n`,
    ),
    ...(warnings.length === 0
      ? []
      : [`      <system-out>${xml(warnings.map(displayDiagnostic).join('\n'))}</system-out>\n`]),
  ];
  const head = `    <testcase classname="${xml(path)}" name="${xml(name)}" file="${xml(path)}"${place}`;
  out.write(body.length === 0 ? `${head}/>\n` : `${head}>\n${body.join('')}    </testcase>\n`);
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot hold these characters, not even escaped.
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Commands in the log of a CI system: see output.ts. The characters that control a terminal are valid in XML as references. */
const OBEYED = /[\t\r\u007f-\u009f\u202a-\u202e\u2066-\u2069]|#(?=#[a-z]*\[)|(?<=^ *):(?=:)/gim;

function xml(text: string): string {
  const safe = text.toWellFormed().replaceAll(NOT_IN_XML, '\ufffd');
  return safe
    .replaceAll(/[&<>"]/g, (found) => ESCAPES[found] ?? found)
    .replaceAll(OBEYED, (found) => `&#${found.charCodeAt(0)};`);
}
