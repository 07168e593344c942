import type { Api } from '../../../cli/api.ts';
import { type ApiOptions, withApiOptions } from '../../../cli/api-options.ts';
import { checked } from '../../../cli/arguments.ts';
import type { CliCommand } from '../../../cli/command.ts';
import { ok, problem } from '../../../model/values/result.ts';
import type { DeclaredDataplaneView } from '../api/dataplane-view.ts';

const DATAPLANE = /^[0-9a-z._-]{1,253}\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** A data plane as `MESH/NAME`. */
export const dataplaneName: (text: string) => string = checked((text) =>
  DATAPLANE.test(text) ? ok(text) : problem('It must be MESH/NAME'),
);

/** A declared data plane (`MESH/NAME`), and where its Envoy connects to the server. */
export function readDataplane(api: Api, name: string): Promise<DeclaredDataplaneView> {
  return api.read(['dataplanes', ...name.split('/')]);
}

/** The flags of {@link withEnvoyOptions}. */
export interface EnvoyFlags extends ApiOptions {
  readonly tokenFile?: string;
  readonly caFile?: string;
}

/** Adds the options by which a data plane finds and trusts its server. */
export function withEnvoyOptions(command: CliCommand): CliCommand {
  return withApiOptions(
    command
      .option(
        '--token-file <file>',
        'file with the token of the data plane (`fleetrelay dataplane token` prints it); needed unless the server has no TLS',
      )
      .option('--ca-file <file>', 'certificate authority of the server (default: those that the system trusts)'),
  );
}
