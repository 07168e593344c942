import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programPath } from './programs.ts';

/** Runs promtool; rejects with what it said. */
export async function promtool(...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(programPath('promtool'), [...args], { timeout: 120_000 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`promtool ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
