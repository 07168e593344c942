import { main } from './main.ts';
import { processContext } from './process-context.ts';
import { compositionRoots } from './roots.ts';

/** Runs the command line of this process and sets its exit code. */
export async function runProcess(): Promise<void> {
  process.exitCode = await main(process.argv.slice(2), { ...processContext(), roots: compositionRoots });
}
