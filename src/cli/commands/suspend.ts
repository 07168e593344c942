import type { CliCommand } from '../command.ts';
import { type Column, type TextOutput, writeTable } from '../output.ts';

/** Adds `suspend` and `resume` to a command about clusters or sources. `effect` is what a suspension does. */
export function suspendCommands<View>(
  command: CliCommand,
  what: 'cluster' | 'source',
  columns: readonly Column<View>[],
  effect: string,
): void {
  const add = (verb: 'suspend' | 'resume', message: (name: string) => string): CliCommand => {
    const added = command.command(verb).argument('<name>', `name of the ${what}`);
    if (verb === 'suspend') added.option('--reason <text>', 'why; the status shows it');
    added.option('--as <name>', `who ${verb}s it, for a server without configured people (default: your user name)`);
    return added.asks(async (api, { reason = '' }: { readonly reason?: string }, name: string) => {
      const view = await api.act<View>([`${what}s`, name, verb], verb === 'suspend' ? { reason } : {});
      const table = (out: TextOutput): void => {
        out.write(`${message(name)}\n\n`);
        writeTable(out, columns, [view]);
      };
      return { value: view, table };
    });
  };
  const example = what === 'cluster' ? 'east' : 'main';
  const way = `go on with: fleetrelay ${what} resume`;
  add('suspend', (name) => `the ${what} ${name} is suspended: ${effect}; ${way} ${name}`)
    .summary(`stop a ${what} for now`)
    .description(`Suspends a ${what} until it is resumed, also over restarts of the server: ${effect}.`)
    .examples([[`fleetrelay ${what} suspend ${example} --reason "a bad merge"`, effect]]);
  add('resume', (name) => `the ${what} ${name} is resumed`)
    .summary(`go on with a suspended ${what}`)
    .description('Ends a suspension; what has waited since is done now.')
    .examples([[`fleetrelay ${what} resume ${example}`, 'do what has waited since']]);
}
