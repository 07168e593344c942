import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import { type ApiOptions, connect, serverOf, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { type OutputFormat, outputOption, print, writeTable } from '../output.ts';
import { AUDIT_COLUMNS } from '../views.ts';

const EXAMPLES = examples([
  ['fleetrelay audit', 'what people did last'],
  ['fleetrelay audit --limit 1000 -o json', 'more of it, for programs'],
]);

/** `fleetrelay audit`: who did what, and what was refused. */
export function auditCommand(context: CliContext): Command {
  return withApiOptions(newCommand('audit', context))
    .summary('what people asked to be done, and what became of it')
    .description(
      'Shows the end of the audit log of the server that is asked, newest last: everything that somebody asked to be done or tried to, refused or not. Of several servers each keeps its own, of what it was asked itself, and SERVER says whose this is: ask each of them (--api). Needs the role operate. What was rotated away is in the files beside it.',
    )
    .option('--limit <entries>', 'as many of the newest entries', wholeNumber(1, 10_000), 100)
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(
      async ({ output, limit, ...api }: ApiOptions & { readonly output: OutputFormat; readonly limit: number }) => {
        const client = await connect(context, api);
        const [noted, { replica }] = await Promise.all([client.audit(limit), client.status()]);
        const server = replica?.id ?? serverOf(context, api);
        const entries = noted.map((entry) => ({ server, ...entry }));
        await print(context, output, entries, (out) =>
          entries.length === 0
            ? out.write(`nothing was asked of ${server} to be done yet\n`)
            : writeTable(out, AUDIT_COLUMNS, entries),
        );
      },
    );
}
