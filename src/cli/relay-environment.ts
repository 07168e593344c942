import { CliError, EXIT } from './exit-codes.ts';

const WITHOUT_VERIFICATION = 'RELAY_DISABLE_SERVER_CERTIFICATE_VALIDATION';

/** Refuses the variable of Gloo's setups that switches off the check of the server's certificate. Empty and `false` are allowed. */
export function refuseWithoutVerification(env: Readonly<Record<string, string | undefined>>): void {
  const value = (env[WITHOUT_VERIFICATION] ?? '').toLowerCase();
  if (value === '' || value === 'false') return;
  throw new CliError(
    EXIT.usage,
    `${WITHOUT_VERIFICATION} is set, and the certificate of the server is always checked`,
    'unset it, and give agents the CA of the server with --ca-file',
  );
}
