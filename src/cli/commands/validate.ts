import type { Diagnostic } from '../../model/diagnostic.ts';
import { counted } from '../../model/messages.ts';
import { type CliCommand, type CliContext, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { styled, writeDiagnostics } from '../output.ts';

/** `fleetrelay validate [PATH...]`: every error with its place, and exit code 1 if there is one. */
export function validateCommand(context: CliContext): CliCommand {
  return newCommand('validate', context)
    .summary('check manifests, with file:line:column for every error')
    .description('Reads manifests as the server would and reports every error in them. Needs no server.')
    .argument('[path...]', 'files and folders; - is standard input', ['.'])
    .option('--strict', 'warnings are errors')
    .examples([
      ['fleetrelay validate', 'every manifest under the current folder'],
      ['fleetrelay validate --strict clusters/ policy.yaml', 'some of them; warnings are errors'],
      ['git show HEAD:policy.yaml | fleetrelay validate -', 'standard input'],
    ])
    .answers(async ({ strict }: { readonly strict?: true }, paths: readonly string[]) => {
      const { cwd, readStdin } = context;
      const found = await context.roots.validate({ paths, cwd, readStdin });
      const harden = (diagnostic: Diagnostic): Diagnostic => ({ ...diagnostic, severity: 'error' });
      const diagnostics = strict === true ? found.diagnostics.map(harden) : found.diagnostics;
      const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
      const warnings = diagnostics.length - errors;
      return {
        value: { files: found.files, documents: found.documents, diagnostics, errors, warnings },
        table: (out) => {
          writeDiagnostics(out, diagnostics);
          const tone = errors > 0 ? 'bad' : warnings > 0 ? 'warn' : 'good';
          const summary = styled(out, tone, `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
          out.write(`${summary} in ${counted(found.documents, 'document')} of ${counted(found.files, 'file')}\n`);
        },
        exitCode: errors > 0 ? EXIT.notWell : EXIT.ok,
      };
    });
}
