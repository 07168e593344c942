import { userInfo } from 'node:os';
import type { CliContext } from './command.ts';

const MAX_NAME = 200;

/** Who asks for a change, for a server that knows no names: the option, else the account of this process. It is a note, not a proof. */
export function callerName(context: CliContext, as: string | undefined): string {
  return (as ?? context.env.FLEETRELAY_USER ?? account()).slice(0, MAX_NAME);
}

function account(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return 'unknown';
  }
}
