import { asking, type CliCommand, type CliContext } from '../command.ts';
import { type Column, writeTable } from '../output.ts';

/** Adds `suspend` and `resume` to a command about clusters or sources. `effect` says what a suspension does. */
export function suspendCommands<View>(
  command: CliCommand,
  context: CliContext,
  what: 'cluster' | 'source',
  columns: readonly Column<View>[],
  effect: string,
): void {
  const example = what === 'cluster' ? 'east' : 'main';
  const add = (verb: 'suspend' | 'resume', meaning: string, message: (name: string) => string): CliCommand => {
    const added = command
      .command(verb)
      .argument('<name>', `name of the ${what}`)
      .option('--as <name>', `who ${verb}s it, for a server without configured people (default: your user name)`)
      .examples([[`fleetrelay ${what} ${verb} ${example}`, meaning]]);
    return asking(context, added, async (api, { reason = '' }: { readonly reason?: string }, name: string) => {
      const view = await api.act<View>([`${what}s`, name, verb], verb === 'suspend' ? { reason } : {});
      return {
        value: view,
        table: (out) => {
          out.write(`${message(name)}\n\n`);
          writeTable(out, columns, [view]);
        },
      };
    });
  };
  add(
    'suspend',
    effect,
    (name) => `the ${what} ${name} is suspended: ${effect}; go on with: fleetrelay ${what} resume ${name}`,
  )
    .summary(`stop a ${what} for now`)
    .description(`Suspends a ${what} until it is resumed, also over restarts of the server: ${effect}.`)
    .option('--reason <text>', 'why; the status shows it');
  add('resume', 'do what has waited since', (name) => `the ${what} ${name} is resumed`)
    .summary(`go on with a suspended ${what}`)
    .description('Ends a suspension; what has waited since is done now.');
}
