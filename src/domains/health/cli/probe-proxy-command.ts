import type { CliCommand, ProcessContext } from '../../../cli/command.ts';
import { lazy } from '../../../cli/lazy.ts';
import { probeProxyCommand } from './probe-proxy.ts';

const run = lazy(async () => (await import('../compose/probe-proxy/probe-proxy.ts')).runProbeProxy);

/** The command in the complete program: the overview does not load what it runs. */
export function lazyProbeProxyCommand(context: ProcessContext): CliCommand {
  return probeProxyCommand(context, run);
}
