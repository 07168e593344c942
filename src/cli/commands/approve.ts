import type { ApprovalView, HeldRemovalsView } from '../../api/server-api.ts';
import { counted } from '../../model/text/messages.ts';
import { digestPrefix } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { listAnswer } from '../output.ts';
import { REMOVAL_COLUMNS, removalRows } from '../views.ts';

/** `fleetrelay approve DIGEST`: releases held removals; `--list` shows them. */
export function approveCommand(context: CliContext): CliCommand {
  return newCommand('approve', context)
    .summary('release removals that a guard holds')
    .description(
      'Releases what is still held of the set that the digest names, and nothing else. An approval is used once and expires.',
    )
    .argument('[digest]', 'digest of the removals, or its first eight or more digits', digestPrefix)
    .option('--list', 'show what is held instead')
    .option('--as <name>', 'who approves, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay approve --list', 'what is held, and under which digest'],
      ['fleetrelay approve 3f9ac1d27b04', 'release exactly that set, once'],
    ])
    .asks(async (api, { list }: { readonly list?: true }, digest?: string) => {
      refuseUsage([[(digest === undefined) === (list === undefined), 'approve needs either a digest or --list']]);
      const held = await api.list('removals');
      if (digest === undefined) {
        return listAnswer(REMOVAL_COLUMNS, removalRows(held), 'no removals are held', held);
      }
      const approval = await api.act<ApprovalView>(['approvals'], { digest: fullDigest(digest, held) });
      const line = `released ${counted(approval.released, 'removal')}; the approval expires at ${approval.expiresAt}\n`;
      return { value: approval, table: (out) => out.write(line) };
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
