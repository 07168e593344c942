import { Option } from 'commander';
import { duration, logLevelOption } from '../../../cli/arguments.ts';
import { type CliCommand, END_MS, type ProcessContext, runIo } from '../../../cli/command.ts';
import { CliError, EXIT, type ExitCode } from '../../../cli/exit-codes.ts';
import type { LogLevel } from '../../../compose/options.ts';
import type { DataplaneRunOptions } from '../compose/dataplane/run.ts';
import { dataplaneName, type EnvoyFlags, readDataplane, withEnvoyOptions } from './dataplane-options.ts';
import type { DataplaneRoots } from './dataplane-roots.ts';

interface Flags extends EnvoyFlags {
  readonly drainTime: number;
  readonly logLevel: LogLevel;
}

const DRAIN_MS = 30_000;

const NOTES = `
Envoy is the program that the variable ENVOY names, else envoy in the PATH. As
long as the server cannot be reached at the start, the command waits and asks
again; once Envoy runs, it needs the server for news only. The Dataplane is read
at the start: start again after a change of its inbounds or outbounds.

The first SIGTERM or SIGINT makes Envoy report itself as unhealthy, so that all
inbounds leave their load-balancing sets; connections are still served. Envoy
ends after --drain-time, or at the second signal. The command ends with the exit
code of Envoy, also if Envoy ends by itself.

A unit of systemd needs KillMode=mixed, so that the first signal reaches this
command alone, and a TimeoutStopSec that is longer than --drain-time.`;

/** Makes the command run the Envoy of a data plane. */
export function runCommand(command: CliCommand, context: ProcessContext, roots: DataplaneRoots): void {
  command
    .summary('run the Envoy of a data plane, and drain it before it ends')
    .description(
      'Asks the server for a declared Dataplane, and starts Envoy with what `fleetrelay dataplane bootstrap` prints. Runs until stopped, or until Envoy ends.',
    )
    .argument('<name>', 'the data plane as MESH/NAME', dataplaneName)
    .argument('[envoy-args...]', 'further arguments of Envoy, after --');
  const drainTime = new Option('--drain-time <duration>', 'from the first signal to the end of Envoy');
  withEnvoyOptions(command)
    .addOption(drainTime.argParser(duration).default(DRAIN_MS, '30s'))
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .examples([
      [
        'fleetrelay dataplane run default/db-07 --api https://relay.example.com --api-token-file /etc/fleetrelay/api.token --token-file /etc/fleetrelay/db-07.token --ca-file /etc/fleetrelay/ca.crt',
        'as the ExecStart of a unit',
      ],
      [
        'fleetrelay dataplane run default/db-07 --token-file db-07.token --ca-file ca.crt -- --concurrency 2',
        'Envoy with two threads',
      ],
    ])
    .action(async (name: string, envoyArgs: readonly string[], flags: Flags) => {
      const signals = context.stopSignals(flags.drainTime + END_MS);
      const { connect } = await import('../../../cli/api.ts');
      const api = await connect(context, flags);
      const { tokenFile, caFile, drainTime, logLevel } = flags;
      const read: DataplaneRunOptions['read'] = () => readDataplane(api, name).catch(unreachableOf);
      const options = { read, api: api.address, tokenFile, caFile, drainMs: drainTime, envoyArgs, logLevel };
      context.exit((await roots.run(options, signals, runIo(context))) as ExitCode);
    });
}

/** A server that does not answer may do so later; any other failure stays. */
function unreachableOf(error: unknown): { readonly unreachable: string } {
  if (error instanceof CliError && error.exitCode === EXIT.unreachable) return { unreachable: error.message };
  throw error;
}
