import { type ApiOptions, withApiOptions } from '../../../cli/api-options.ts';
import type { CliCommand } from '../../../cli/command.ts';

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
