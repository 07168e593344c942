import type { Command } from 'commander';
import type { ValidationReport } from '../../compose/validate.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { counted } from '../../model/messages.ts';
import { type CliContext, examples, newCommand, type TextOutput } from '../command.ts';
import { writeDiagnostics } from '../diagnostics.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';
import { styled } from '../style.ts';

interface Flags {
  readonly output: OutputFormat;
  readonly strict?: true;
}

const EXAMPLES = examples([
  ['fleetrelay validate', 'every manifest under the current folder'],
  ['fleetrelay validate --strict clusters/ policy.yaml', 'some of them; warnings are errors'],
  ['git show HEAD:policy.yaml | fleetrelay validate -', 'standard input'],
]);

/** `fleetrelay validate [PATH...]`: every error with its place, and exit code 1 if there is one. */
export function validateCommand(context: CliContext): Command {
  return newCommand('validate', context)
    .summary('check manifests, with file:line:column for every error')
    .description('Reads manifests as the server would and says everything that is wrong with them. Needs no server.')
    .argument('[path...]', 'files and folders; - is standard input', ['.'])
    .option('--strict', 'warnings are errors')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (paths: readonly string[], { output, strict }: Flags) => {
      const { cwd, readStdin } = context;
      const found = await context.roots.validate({ paths, cwd, readStdin });
      const report = strict === true ? { ...found, diagnostics: found.diagnostics.map(hardened) } : found;
      const errors = count(report, 'error');
      const warnings = count(report, 'warning');
      await print(context, output, { ...report, errors, warnings }, (out) => writeReport(out, report));
      context.exit(errors > 0 ? EXIT.notWell : EXIT.ok);
    });
}

function hardened(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, severity: 'error' };
}

function count({ diagnostics }: ValidationReport, severity: Diagnostic['severity']): number {
  return diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
}

function writeReport(out: TextOutput, report: ValidationReport): void {
  writeDiagnostics(out, report.diagnostics);
  const [errors, warnings] = [count(report, 'error'), count(report, 'warning')];
  const tone = errors > 0 ? 'bad' : warnings > 0 ? 'warn' : 'good';
  const summary = `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`;
  out.write(
    `${styled(out, tone, summary)} in ${counted(report.documents, 'document')} of ${counted(report.files, 'file')}\n`,
  );
}
