import { sentenceOf } from '../../model/fleet/diagnostic.ts';
import { printableJson } from '../../model/text/printable.ts';
import type { TextOutput } from '../output.ts';
import { pathFromRoot, placed, type ShownFindings } from './findings.ts';

/**
 * Writes a report of GitLab's Code Quality, which a merge request shows.
 * https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
 */
export function writeGitlab(out: TextOutput, shown: ShownFindings): void {
  const issues = placed(shown).map(({ diagnostic, fingerprint }) => {
    const { severity, code, at } = diagnostic;
    return {
      description: sentenceOf(diagnostic),
      check_name: code,
      fingerprint,
      severity: severity === 'error' ? 'major' : 'minor',
      location: { path: at === undefined ? '.' : pathFromRoot(shown, at.path), lines: { begin: at?.line ?? 1 } },
    };
  });
  out.write(`${printableJson(issues, 2)}\n`);
}
