import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { beginsBefore, type ResourceOutcome, type ValidationReport } from '../../compose/validate/report.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { TextOutput } from '../output.ts';

/** The findings of a run of `validate`, as every format shows them. */
export interface ShownFindings {
  /** Under `--strict` its diagnostics are errors. */
  readonly report: ValidationReport;
  /** The number of documents by outcome and of findings by code are shown as well. */
  readonly withSummary: boolean;
  /** Of this program. */
  readonly version: string;
  /** Absolute: paths of the report are relative to it. */
  readonly cwd: string;
  /** Absolute: the root of the repository, which paths for other programs are relative to. */
  readonly root: string;
  readonly exitCode: ExitCode;
  /** Takes the text instead of standard output, which has the fixed text of standard input. */
  readonly out?: TextOutput;
}

/** Returns the number of errors and of warnings. */
export function severitiesOf({ diagnostics }: ValidationReport): {
  readonly errors: number;
  readonly warnings: number;
} {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return { errors, warnings: diagnostics.length - errors };
}

/** A finding, the resource that it is in, and an id that stays the same while lines above it come and go. */
export interface Placed {
  readonly diagnostic: Diagnostic;
  readonly resource: ResourceOutcome | undefined;
  /** Hexadecimal. */
  readonly fingerprint: string;
}

/** Places each finding, in the order of the report. */
export function placed({ report, ...folders }: ShownFindings): readonly Placed[] {
  const resources = Map.groupBy(report.resources, ({ path }) => path);
  const seen = new Map<string, number>();
  return report.diagnostics.map((diagnostic) => {
    const { at, code, message } = diagnostic;
    const resource = (resources.get(at?.path ?? '') ?? []).findLast(
      (each) => at?.line !== undefined && beginsBefore(each, at),
    );
    const path = at === undefined ? '' : pathFromRoot(folders, at.path);
    const words = JSON.stringify([code, path, resource === undefined ? '' : nameOf(resource), message]);
    // Equal findings of one document differ in their number only.
    const count = (seen.get(words) ?? 0) + 1;
    seen.set(words, count);
    return { diagnostic, resource, fingerprint: createHash('sha256').update(`${count} ${words}`).digest('hex') };
  });
}

/** One case of a test report: a document, or a file of which no document could be read. */
export interface TestCase {
  readonly name: string;
  readonly line: number | undefined;
  readonly skipped: string | undefined;
  readonly findings: readonly Diagnostic[];
}

/** Returns the cases by path, in canonical order. Findings outside of any document make a case of their own. */
export function testCases(shown: ShownFindings): ReadonlyMap<string, readonly TestCase[]> {
  const byResource = Map.groupBy(placed(shown), ({ resource }) => resource);
  const rows = shown.report.resources.map((resource) => ({
    path: resource.path,
    name: nameOf(resource),
    line: resource.line,
    skipped: SKIPPED[resource.state],
    findings: (byResource.get(resource) ?? []).map(({ diagnostic }) => diagnostic),
  }));
  const loose = Map.groupBy(byResource.get(undefined) ?? [], ({ diagnostic }) => diagnostic.at?.path ?? '');
  for (const [path, found] of loose) {
    const findings = found.map(({ diagnostic }) => diagnostic);
    rows.push({ path, name: 'the file', line: 0, skipped: undefined, findings });
  }
  rows.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
  return Map.groupBy(rows, ({ path }) => path);
}

const SKIPPED: Partial<Record<ResourceOutcome['state'], string>> = {
  skipped: 'the kind is skipped',
  noSchema: 'there is no schema of the kind',
};

/** `apps/v1 Deployment shop/web`. */
export function nameOf({ apiVersion, kind, namespace, name }: ResourceOutcome): string {
  const object = [namespace, name].filter((part) => part !== '').join('/');
  return [apiVersion, kind, object].filter((part) => part !== '').join(' ');
}

/** A path of the report as other programs take it: relative to the root of the repository if it is below it, with `/`. */
export function pathFromRoot({ cwd, root }: Pick<ShownFindings, 'cwd' | 'root'>, path: string): string {
  if (path === '-') return 'stdin';
  const absolute = resolve(cwd, path);
  const below = relative(root, absolute);
  const isOutside = below.startsWith('..') || isAbsolute(below);
  return (isOutside ? absolute : below === '' ? '.' : below).split(sep).join('/');
}
