import type { SyncedSourcesView, SyncedSourceView } from '../../api/sync-api.ts';
import type { CliCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Column, writeTable } from '../output.ts';

const SHORT_REVISION = 10;

const COLUMNS: readonly Column<SyncedSourceView>[] = [
  { title: 'SOURCE', text: ({ name }) => name },
  { title: 'FOUND', text: ({ outcome }) => outcome, isState: true },
  { title: 'BEFORE', text: ({ before }) => short(before) },
  { title: 'REVISION', text: ({ revision }) => short(revision) },
  { title: 'WAITING', text: ({ refusedRevision }) => short(refusedRevision) },
  { title: 'MESSAGE', text: ({ message }) => message },
];

/** `fleetrelay source sync [NAME]`: exit code 1 if a look failed, or found a revision that waits for a person. */
export function syncCommand(command: CliCommand): void {
  command
    .summary('look now for a new revision, and say what was found')
    .description(
      'Has the server look at a source, or at all of them, without waiting for the poll interval or a hook, and says of each whether a new revision was read, nothing is new, it waits for a person, or why the look failed. It exits with 1 in the last two cases. A look that takes longer than six seconds goes on: FOUND is "looking", and `fleetrelay get sources` shows its end. It needs the role "operate".',
    )
    .argument('[name]', 'name of the source (default: all)')
    .option('--as <name>', 'who asks for it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay source sync', 'after a push, where no hook tells the server'],
      ['fleetrelay source sync main -o json', 'one source, for a script that waits for its commit'],
    ])
    .asks(async (api, _flags, name?: string) => {
      const path = name === undefined ? ['sources', 'sync'] : ['sources', name, 'sync'];
      const view = await api.act<SyncedSourcesView>(path);
      const isWell = view.sources.every(({ outcome }) => outcome !== 'failed' && outcome !== 'refused');
      return {
        value: view,
        table: (out) => writeTable(out, COLUMNS, view.sources),
        exitCode: isWell ? EXIT.ok : EXIT.notWell,
      };
    });
}

function short(revision: string | null): string {
  return revision?.slice(0, SHORT_REVISION) ?? '-';
}
