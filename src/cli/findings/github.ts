import { printable } from '../../model/text/printable.ts';
import type { TextOutput } from '../output.ts';
import { pathFromRoot, type ShownFindings } from './findings.ts';
import { writeSummary } from './summary.ts';

/**
 * Writes workflow commands, which GitHub Actions shows beside the lines of a pull request.
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions#setting-an-error-message
 */
export function writeGithub(out: TextOutput, shown: ShownFindings): void {
  for (const { severity, code, reason, message, hint, at } of shown.report.diagnostics) {
    const properties = {
      file: at === undefined ? undefined : pathFromRoot(shown, at.path),
      line: at?.line,
      col: at?.column,
      title: `${code} ${reason}`,
    };
    const pairs = Object.entries(properties).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}=${property(String(value))}`],
    );
    out.write(`::${severity} ${pairs.join(',')}::${data(hint === undefined ? message : `${message} (${hint})`)}\n`);
  }
  writeSummary(out, shown);
}

function data(text: string): string {
  return printable(text).replaceAll('%', '%25');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
