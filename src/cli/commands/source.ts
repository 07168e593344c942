import type { SourceView } from '../../api/server-api.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { SOURCES } from '../lists/kinds.ts';
import { showList } from '../lists/show-list.ts';
import { listAnswer, NAME_FORMATS } from '../output.ts';
import { SOURCE_COLUMNS } from '../views.ts';
import { syncCommand } from './source-sync.ts';
import { suspendCommands } from './suspend.ts';

/** Another revision than the one that the person has looked at can easily have the same shorter beginning. */
const SHORTEST = 6;

/** `fleetrelay source list|sync|accept|suspend|resume`. */
export function sourceCommand(context: CliContext): CliCommand {
  const command = newCommand('source', context)
    .summary('list sources, look at them now, accept a refused revision, suspend and resume')
    .description('Sources are the places from which the server reads desired state.')
    .examples([
      ['fleetrelay source list', 'every source and its state'],
      ['fleetrelay source sync', 'look now, without waiting for the poll interval'],
      ['fleetrelay source accept main 4be7c1', 'let a rewritten history or an empty tree in after all'],
      ['fleetrelay source suspend main --reason "a bad merge"', 'admit nothing new of it for now'],
    ]);
  const list = command
    .command('list')
    .summary('all sources and their states')
    .description('Lists the sources and their states.')
    .examples([['fleetrelay source list', 'every source and its state']]);
  const all = { kind: SOURCES, words: [], filter: {}, watch: false, none: 'no sources' };
  list.asks((api, { output }: { readonly output: string }) => showList(context, api, { ...all, output }), NAME_FORMATS);
  syncCommand(command.command('sync'));
  const accept = command
    .command('accept')
    .summary('admit a revision that was refused')
    .description('Admits a revision that waits for a person: a rewritten history, a vanished branch, an empty tree.')
    .argument('<name>', 'name of the source')
    .argument('<revision>', `the revision that waits, or at least ${SHORTEST} of its first digits`)
    .option('--as <name>', 'who accepts, for a server without configured people (default: your user name)')
    .examples([['fleetrelay source accept main 4be7c1', 'admit the revision that "source list" shows as waiting']]);
  accept.asks(async (api, _flags, name: string, text: string) => {
    // The server is sent the complete revision.
    const waiting = (await api.list('sources')).find((source) => source.name === name)?.refusedRevision;
    const isMeant = text.length >= SHORTEST && waiting?.startsWith(text) === true;
    const revision = isMeant ? waiting : text;
    const source = await api.act<SourceView>(['sources', name, 'accept'], { revision });
    return listAnswer(SOURCE_COLUMNS, [source], '', source);
  });
  suspendCommands(command, 'source', SOURCE_COLUMNS, 'no new revision of it is admitted');
  return command;
}
