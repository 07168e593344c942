import { setFlagsFromString } from 'node:v8';
import { endIfHeld } from '../../../cli/last-exit.ts';
import { processContext } from '../../../cli/process-context.ts';
import { parseWith, withExitCode } from '../../../cli/run-command.ts';
import { runProbeProxy } from '../compose/probe-proxy/probe-proxy.ts';
import { probeProxyCommand } from './probe-proxy.ts';

/** Code is interpreted, not compiled, and the heap is collected early: a few probes a second need no more. */
const MEMORY_FLAGS = [
  '--no-sparkplug',
  '--no-maglev',
  '--no-opt',
  '--memory-saver-mode',
  '--semi-space-growth-factor=1',
];

/**
 * Runs `fleetrelay probe-proxy` with the arguments after these words, and nothing else: bundled as CommonJS it takes a quarter
 * less memory than the complete program, beside every application.
 */
export async function runProbeProxyProcess(args: readonly string[]): Promise<void> {
  for (const flag of MEMORY_FLAGS) setFlagsFromString(flag);
  const context = processContext();
  const code = await withExitCode(context, args, (exit) =>
    parseWith(probeProxyCommand({ ...context, exit }, runProbeProxy), 'probe-proxy', args),
  );
  process.exitCode = code;
  endIfHeld(code);
}
