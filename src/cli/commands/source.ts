import type { Command } from 'commander';
import type { SourceView } from '../../server/api.ts';
import { callerName } from '../caller.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { type OutputFormat, outputOption, print, writeTable } from '../output.ts';
import { SOURCE_COLUMNS } from '../views.ts';
import { suspendCommands } from './suspend.ts';

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly as?: string;
}

const EXAMPLES = examples([
  ['fleetrelay source list', 'where desired state comes from, and how each place is'],
  ['fleetrelay source accept main 4be7c1', 'let a rewritten history or an empty tree in after all'],
  ['fleetrelay source suspend main --reason "a bad merge"', 'admit nothing new of it for now'],
]);

/** Shorter beginnings are too easily those of another revision than the person has looked at. */
const SHORTEST = 6;

/** The revision that waits in a source, if the text is it or its beginning. What is sent to the server is always whole. */
function waitingRevision(sources: readonly SourceView[], name: string, text: string): string | undefined {
  const waiting = sources.find((source) => source.name === name)?.refusedRevision;
  return text.length >= SHORTEST && waiting?.startsWith(text) === true ? waiting : undefined;
}

/** `fleetrelay source list|accept|suspend|resume`. */
export function sourceCommand(context: CliContext): Command {
  const command = newCommand('source', context)
    .summary('list sources, accept a refused revision, suspend and resume')
    .description('The places that desired state comes from.')
    .addHelpText('after', EXAMPLES);
  withApiOptions(command.command('list'))
    .summary('all sources and how they are')
    .description('Lists the sources and how they are.')
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples([['fleetrelay source list', 'where desired state comes from, and how each place is']]),
    )
    .action(async ({ output, ...api }: Flags) => {
      const sources = await (await connect(context, api)).sources();
      await print(context, output, sources, (out) => writeTable(out, SOURCE_COLUMNS, sources));
    });
  withApiOptions(command.command('accept'))
    .summary('admit a revision that was refused')
    .description('Admits a revision that waits for a person: a rewritten history, a vanished branch, an empty tree.')
    .argument('<name>', 'name of the source')
    .argument('<revision>', `the revision that waits, or at least ${SHORTEST} of its first digits`)
    .option('--as <name>', 'who accepts, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', examples([['fleetrelay source accept main 4be7c1', 'let in what "source list" says waits']]))
    .action(async (name: string, revision: string, { output, as, ...api }: Flags) => {
      const client = await connect(context, api);
      const waiting = waitingRevision(await client.sources(), name, revision);
      const source = await client.accept(name, waiting ?? revision, callerName(context, as));
      await print(context, output, source, (out) => writeTable(out, SOURCE_COLUMNS, [source]));
    });
  suspendCommands(command, context, 'source', {
    columns: SOURCE_COLUMNS,
    suspended: 'no new revision of it is admitted',
    suspend: (client, name, by, reason) => client.suspendSource(name, by, reason),
    resume: (client, name, by) => client.resumeSource(name, by),
  });
  return command;
}
