import { checked } from '../../../cli/arguments.ts';
import { type CliCommand, newCommand, type ProcessContext } from '../../../cli/command.ts';
import { type TextOutput, writeTable } from '../../../cli/output.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { ok, problem } from '../../../model/values/result.ts';
import { shootColumns } from './shoot-columns.ts';

const SHOOT = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** A Shoot as `NAMESPACE/NAME`. */
const shootName: (text: string) => string = checked((text) =>
  SHOOT.test(text) ? ok(text) : problem('It must be NAMESPACE/NAME'),
);

/** `fleetrelay shoot reconcile|retry`. */
export function shootCommand(context: ProcessContext): CliCommand {
  const command = newCommand('shoot', context)
    .summary('begin an operation of a Shoot')
    .description('Begins an operation of a declared Shoot, as the annotation gardener.cloud/operation does.')
    .examples([
      ['fleetrelay shoot reconcile garden-web/blue', 'begin an operation, although nothing has changed'],
      ['fleetrelay shoot retry garden-web/blue', 'try an operation again that has failed'],
    ]);
  requestCommand(
    command.command('reconcile'),
    'begin an operation',
    'Begins an operation of a Shoot whose last one has not failed.',
    'begin an operation, although nothing has changed',
  );
  requestCommand(
    command.command('retry'),
    'try a failed operation again',
    'Tries the last operation of a Shoot again, which has failed.',
    'after the quota was raised, for example',
  );
  return command;
}

function requestCommand(command: CliCommand, summary: string, description: string, why: string): void {
  const request = command.name();
  command
    .summary(summary)
    .description(`${description} It needs the role "operate", and the leader notes it in its audit log.`)
    .argument('<name>', 'the Shoot as NAMESPACE/NAME', shootName)
    .option('--as <name>', 'who asks for it, for a server without configured people (default: your user name)')
    .examples([[`fleetrelay shoot ${request} garden-web/blue`, why]])
    .asks(async (api, _flags, name: string) => {
      const row = await api.act<JsonObject>(['shoots', ...name.split('/'), request]);
      const table = (out: TextOutput): void => {
        out.write(`an operation of the Shoot ${name} begins\n\n`);
        writeTable(
          out,
          shootColumns(() => Date.now()),
          [row],
        );
      };
      return { value: row, table };
    });
}
