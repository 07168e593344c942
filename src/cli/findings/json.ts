import { type ShownFindings, severitiesOf } from './findings.ts';
import { countsOf } from './summary.ts';

/** The findings for programs; docs/reference/validate.md describes the members. */
export function findingsForPrograms({ report }: ShownFindings) {
  const { files, diagnostics, fixed, notEvaluated } = report;
  const { errors, warnings } = severitiesOf(report);
  const { documents, codes } = countsOf(report);
  return { summary: { files, documents, errors, warnings, codes }, findings: diagnostics, fixed, notEvaluated };
}
