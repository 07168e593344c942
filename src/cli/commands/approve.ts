import type { Command } from 'commander';
import { counted } from '../../model/messages.ts';
import type { HeldRemovalsView } from '../../server/api.ts';
import { digestPrefix } from '../arguments.ts';
import { callerName } from '../caller.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print, writeTable } from '../output.ts';
import { REMOVAL_COLUMNS, removalRows } from '../views.ts';

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly list?: true;
  readonly as?: string;
}

const EXAMPLES = examples([
  ['fleetrelay approve --list', 'what is held, and under which digest'],
  ['fleetrelay approve 3f9ac1d27b04', 'release exactly that set, once'],
]);

/** `fleetrelay approve DIGEST`: releases held removals; `--list` shows them. */
export function approveCommand(context: CliContext): Command {
  return withApiOptions(newCommand('approve', context))
    .summary('release removals that a guard holds')
    .description(
      'Releases what is still held of the set that the digest names, and nothing else. An approval is used once and expires.',
    )
    .argument('[digest]', 'digest of the removals, or its first eight or more digits', digestPrefix)
    .option('--list', 'show what is held instead')
    .option('--as <name>', 'who approves, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (digest: string | undefined, { output, list, as, ...api }: Flags) => {
      if ((digest === undefined) === (list === undefined)) {
        throw new CliError(EXIT.usage, 'approve needs either a digest or --list');
      }
      const client = await connect(context, api);
      const held = await client.removals();
      if (digest === undefined) {
        const rows = removalRows(held);
        return print(context, output, held, (out) =>
          rows.length === 0 ? out.write('no removals are held\n') : writeTable(out, REMOVAL_COLUMNS, rows),
        );
      }
      const approval = await client.approve(fullDigest(digest, held), callerName(context, as));
      return print(context, output, approval, (out) =>
        out.write(`released ${counted(approval.released, 'removal')}; the approval expires at ${approval.expiresAt}\n`),
      );
    });
}

function fullDigest(text: string, held: readonly HeldRemovalsView[]): string {
  const matches = held.map(({ digest }) => digest).filter((digest) => digest.startsWith(text));
  const [only] = matches;
  if (matches.length === 1 && only !== undefined) return only;
  throw matches.length === 0
    ? new CliError(EXIT.notFound, `no held removals have the digest ${text}`, 'see `fleetrelay approve --list`')
    : new CliError(EXIT.usage, `several digests begin with ${text}`, 'give more of it');
}
