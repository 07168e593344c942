import { endIfHeld } from './last-exit.ts';
import { main } from './main.ts';
import { processContext } from './process-context.ts';
import { compositionRoots } from './roots.ts';

/** Runs the command line of this process, sets its exit code, and sees to it that the process ends. */
export async function runProcess(): Promise<void> {
  const code = await main(process.argv.slice(2), { ...processContext(), roots: compositionRoots });
  process.exitCode = code;
  endIfHeld(code);
}
