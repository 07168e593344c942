import type { Command } from 'commander';
import { DEFAULT_API } from '../model/fleet/default-api.ts';

/** The options of {@link withApiOptions}, and `--as`. */
export interface ApiOptions {
  readonly api?: string;
  readonly apiTokenFile?: string;
  readonly apiCaFile?: string;
  readonly apiCertFile?: string;
  readonly apiKeyFile?: string;
  /** The name of the caller, for a server without configured people. No proof. */
  readonly as?: string;
}

/** Adds the options for the address of the server and the credentials of the caller. */
export function withApiOptions<Some extends Command>(command: Some): Some {
  return command
    .option('--api <address>', `URL of the server, or unix:PATH (environment: FLEETRELAY_API; default: ${DEFAULT_API})`)
    .option(
      '--api-token-file <file>',
      'file with your API token (environment: FLEETRELAY_API_TOKEN_FILE, or FLEETRELAY_API_TOKEN is the token itself; default: the token of your own server on this machine)',
    )
    .option('--api-ca-file <file>', 'CA to trust for an https address (environment: FLEETRELAY_API_CA_FILE)')
    .option('--api-cert-file <file>', 'your client certificate (environment: FLEETRELAY_API_CERT_FILE)')
    .option('--api-key-file <file>', 'its key (environment: FLEETRELAY_API_KEY_FILE)');
}

/** The server's address as the caller gave it, for people. */
export function addressOf(
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
  options: ApiOptions,
): string {
  return options.api ?? env.FLEETRELAY_API ?? DEFAULT_API;
}
