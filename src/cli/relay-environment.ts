import { CliError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';

const WITHOUT_VERIFICATION = 'RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION';

/** Refuses the one name of Gloo's setups that would make every other protection worthless. Empty and `false` ask for nothing. */
export function refuseWithoutVerification(env: Readonly<Record<string, string | undefined>>): void {
  const said = (env[WITHOUT_VERIFICATION] ?? '').toLowerCase();
  if (said === '' || said === 'false') return;
  throw new CliError(
    EXIT.usage,
    `${WITHOUT_VERIFICATION} is set, and the certificate of the server is always checked`,
    'unset it, and give agents the CA of the server with --ca-file',
  );
}
