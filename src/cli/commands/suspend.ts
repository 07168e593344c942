import type { Command } from 'commander';
import { callerName } from '../caller.ts';
import { type ApiClient, type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples } from '../command.ts';
import { type Column, type OutputFormat, outputOption, print, writeTable } from '../output.ts';

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly as?: string;
}

/** What can be suspended, and how it is shown. */
interface Suspendable<View> {
  readonly columns: readonly Column<View>[];
  /** What it means, as half a sentence. */
  readonly suspended: string;
  readonly suspend: (client: ApiClient, name: string, by: string, reason: string) => Promise<View>;
  readonly resume: (client: ApiClient, name: string, by: string) => Promise<View>;
}

/** Adds `suspend` and `resume` to a command about clusters or sources. */
export function suspendCommands<View extends object>(
  command: Command,
  context: CliContext,
  what: 'cluster' | 'source',
  { columns, suspended, suspend, resume }: Suspendable<View>,
): void {
  const show = (output: OutputFormat, view: View, said: string): Promise<void> =>
    print(context, output, view, (out) => {
      out.write(`${said}\n\n`);
      writeTable(out, columns, [view]);
    });
  const example = what === 'cluster' ? 'east' : 'main';
  withApiOptions(command.command('suspend'))
    .summary(`stop a ${what} for now`)
    .description(`Suspends a ${what} until it is resumed, also over restarts of the server: ${suspended}.`)
    .argument('<name>', `name of the ${what}`)
    .option('--reason <text>', 'why, for those who see it in the status')
    .option('--as <name>', 'who suspends it, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', examples([[`fleetrelay ${what} suspend ${example} --reason "a bad merge"`, suspended]]))
    .action(async (name: string, { output, as, reason = '', ...api }: Flags & { readonly reason?: string }) => {
      const view = await suspend(await connect(context, api), name, callerName(context, as), reason);
      await show(
        output,
        view,
        `the ${what} ${name} is suspended: ${suspended}; go on with: fleetrelay ${what} resume ${name}`,
      );
    });
  withApiOptions(command.command('resume'))
    .summary(`go on with a suspended ${what}`)
    .description(`Ends a suspension; what has waited since is done now.`)
    .argument('<name>', `name of the ${what}`)
    .option('--as <name>', 'who resumes it, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', examples([[`fleetrelay ${what} resume ${example}`, 'do what has waited since']]))
    .action(async (name: string, { output, as, ...api }: Flags) => {
      const view = await resume(await connect(context, api), name, callerName(context, as));
      await show(output, view, `the ${what} ${name} is resumed`);
    });
}
