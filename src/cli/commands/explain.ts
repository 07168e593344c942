import type { Command } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import type { Explanation } from '../../server/api.ts';
import { clusterName } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand, type TextOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Column, type OutputFormat, outputOption, print, printable, writeTable } from '../output.ts';
import { styled } from '../style.ts';

const STEP_COLUMNS: readonly Column<Explanation['because'][number]>[] = [
  { title: 'BECAUSE OF', text: ({ kind, name }) => `${kind} ${name}` },
  { title: 'AT', text: ({ at }) => at },
  { title: 'NOTE', text: ({ note }) => note },
];

const EXAMPLES = examples([
  ['fleetrelay explain east Deployment.apps/web/frontend', 'an object in the namespace "web"'],
  ['fleetrelay explain east Namespace/web', 'an object without a namespace'],
]);

/** `fleetrelay explain CLUSTER OBJECT`: where it comes from, down to file and line. */
export function explainCommand(context: CliContext): Command {
  return withApiOptions(newCommand('explain', context))
    .summary('where an object of a cluster comes from, or why it is missing')
    .description('Walks from an object of a cluster back to the files, lines and rules that it comes from.')
    .argument('<cluster>', 'name of the cluster', clusterName)
    .argument('<object>', 'KIND/NAMESPACE/NAME or KIND/NAME; KIND.GROUP/... where a kind is in several groups')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(
      async (
        cluster: ClusterName,
        object: string,
        { output, ...api }: ApiOptions & { readonly output: OutputFormat },
      ) => {
        if (!/^[^/]+(\/[^/]+){1,2}$/.test(object)) throw new CliError(EXIT.usage, ...notAnObject(object));
        const explanation = await (await connect(context, api)).explain(cluster, object);
        await print(context, output, explanation, (out) => writeExplanation(out, explanation));
      },
    );
}

function notAnObject(text: string): [message: string, hint: string] {
  const spelling = 'an object is KIND/NAMESPACE/NAME or KIND/NAME, with KIND or KIND.GROUP';
  return [`${printable(text)} names no object: ${spelling}`, '`fleetrelay get outputs` lists them all'];
}

function writeExplanation(out: TextOutput, { cluster, object, state, message, because }: Explanation): void {
  out.write(`${styled(out, 'strong', printable(object))} in ${printable(cluster)}: ${state}`);
  out.write(message === '' ? '\n' : `; ${printable(message)}\n`);
  if (because.length > 0) {
    out.write('\n');
    writeTable(out, STEP_COLUMNS, because);
  }
}
