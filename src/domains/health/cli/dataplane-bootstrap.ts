import type { CliCommand, ProcessContext } from '../../../cli/command.ts';
import { type CommandAnswer, DOCUMENT_FORMATS } from '../../../cli/output.ts';
import { printable } from '../../../model/text/printable.ts';
import { dataplaneName, type EnvoyFlags, readDataplane, withEnvoyOptions } from './dataplane-options.ts';
import type { DataplaneRoots } from './dataplane-roots.ts';

const NOTES = `
Envoy reads the token from the file when it starts; the token is not in what is
printed. Its admin interface listens on 127.0.0.1, at networking.admin.port of
the Dataplane (9901), where the server has Envoy check itself.

A server in mode insecure has neither TLS nor tokens, and serves Envoys of its
own machine only.`;

/** Makes the command print the configuration of the Envoy of a data plane. */
export function bootstrapCommand(command: CliCommand, context: ProcessContext, roots: DataplaneRoots): void {
  command
    .summary('print the configuration that an Envoy starts with')
    .description(
      'Asks the server for a declared Dataplane, and prints the bootstrap of its Envoy: a TCP listener for each inbound and outbound, the Virtual Probes, and the server as its source of health checks and endpoints.',
    )
    .argument('<name>', 'the data plane as MESH/NAME', dataplaneName);
  withEnvoyOptions(command)
    .addHelpText('after', NOTES)
    .examples([
      [
        'fleetrelay dataplane bootstrap default/db-07 --api https://relay.example.com --token-file /etc/fleetrelay/db-07.token --ca-file /etc/fleetrelay/ca.crt > envoy.yaml',
        'for `envoy -c envoy.yaml`',
      ],
    ])
    .answersIn(DOCUMENT_FORMATS, async (flags: EnvoyFlags, name: string): Promise<Omit<CommandAnswer, 'table'>> => {
      const { connect } = await import('../../../cli/api.ts');
      const api = await connect(context, flags);
      const { tokenFile, caFile } = flags;
      const { cwd, env } = context;
      const request = { declared: await readDataplane(api, name), api: api.address, tokenFile, caFile, cwd, env };
      const { bootstrap, warnings } = await roots.bootstrap(request);
      for (const warning of warnings) context.stderr.write(`warning: ${printable(warning)}\n`);
      return { value: bootstrap };
    });
}
