import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Finding } from '../../compose/render/rendering.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { parseRfc3339 } from '../../model/time.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { writeDiagnostics } from '../diagnostics.ts';
import { EXIT } from '../exit-codes.ts';
import { writeRendering } from '../render-output.ts';

interface Flags {
  readonly clusters?: string;
  readonly at?: number;
  readonly status?: string;
  readonly output?: 'json' | 'yaml';
  readonly outputDir?: string;
}

const EXAMPLES = examples([
  ['fleetrelay render', 'what the repository in this folder comes to, as JSON'],
  ['fleetrelay render fleet --clusters recorded -o yaml', 'with what lies in recorded/east, recorded/west, ...'],
  ['fleetrelay render --output-dir new && diff -r old new', 'what a change does to the objects of each cluster'],
  ['fleetrelay render --status ../status --at 2026-01-31T10:42:07Z', 'the status documents as of a moment'],
]);

/** `fleetrelay render [PATH]`: what the engine makes of a folder, once. Exit code 1 if a file is invalid. */
export function renderCommand(context: CliContext): Command {
  return newCommand('render', context)
    .summary('what clusters should hold and what status would say, from a folder, without a server')
    .description(
      'Evaluates a repository folder once, as a server would. Prints the objects of each cluster, the status documents and all diagnostics. Findings go to stderr as well; the exit code is 1 if a file is invalid.',
    )
    .argument('[path]', 'folder of the repository', '.')
    .option('--clusters <dir>', 'live state: a directory cluster in each folder DIR/NAME')
    .option('--at <time>', 'the time, RFC 3339 (default: now)', time)
    .option('--status <dir>', 'a checkout of the status branch: the status that was written last')
    .addOption(new Option('-o, --output <format>', 'how to print it (default: "json")').choices(['json', 'yaml']))
    .option('--output-dir <dir>', 'write the objects into a folder for each cluster; print only with -o')
    .addHelpText('after', EXAMPLES)
    .action(async (folder: string, { output, ...flags }: Flags) => {
      const rendering = await context.roots.render({ folder, cwd: context.cwd, ...flags });
      const shown = rendering.findings.map((finding) => asWritten(finding, folder, flags.clusters));
      writeDiagnostics(context.stderr, shown);
      if (output !== undefined || flags.outputDir === undefined) {
        writeRendering(context.stdout, output ?? 'json', rendering);
      }
      context.exit(rendering.isInvalid ? EXIT.notWell : EXIT.ok);
    });
}

function time(text: string): number {
  const milliseconds = parseRfc3339(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('It must be RFC 3339, as 2026-01-31T10:42:07Z.');
  return milliseconds;
}

/** With its path below the folder that was named on the command line. */
function asWritten({ folder, diagnostic }: Finding, repository: string, clusters = ''): Diagnostic {
  const { at } = diagnostic;
  const below = (folder === 'repository' ? repository : clusters).replace(/\/+$/, '');
  return at === undefined || below === '.' ? diagnostic : { ...diagnostic, at: { ...at, path: `${below}/${at.path}` } };
}
