import { wholeNumber } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { listAnswer } from '../output.ts';
import { AUDIT_COLUMNS } from '../views.ts';

/** `fleetrelay audit`: the audit log of one server. */
export function auditCommand(context: CliContext): CliCommand {
  return newCommand('audit', context)
    .summary('what people asked to be done, and what became of it')
    .description(
      'Shows the end of the audit log of the server that is asked, newest last: every request to change something, with who made it and whether it was done or refused. Each of several servers keeps its own log of the requests that it received; the column SERVER names it. Ask each of them (--api). Needs the role operate. Rotated files lie beside the log, and are shown as well.',
    )
    .option('--limit <count>', 'number of entries to list, the newest', wholeNumber(1, 10_000), 100)
    .examples([
      ['fleetrelay audit', 'what people did last'],
      ['fleetrelay audit --limit 1000 -o json', 'more of it, for programs'],
    ])
    .asks(async (api, { limit }: { readonly limit: number }) => {
      const [noted, { replica }] = await Promise.all([api.list('audit', { limit: String(limit) }), api.status()]);
      const server = replica?.id ?? api.address;
      const entries = noted.map((entry) => ({ server, ...entry }));
      return listAnswer(AUDIT_COLUMNS, entries, `nothing was asked of ${server} to be done yet`);
    });
}
