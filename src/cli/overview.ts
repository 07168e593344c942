import type { TextOutput } from './command.ts';
import { EXIT_CODE_MEANINGS } from './exit-codes.ts';
import { COMMANDS } from './registry.ts';
import { styled } from './style.ts';

/** What `fleetrelay` alone and `fleetrelay help` print. */
export function writeOverview(out: TextOutput): void {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  out.write('fleetrelay leads a fleet of clusters to what a git repository says, and writes back how far it got.\n\n');
  out.write('Usage: fleetrelay COMMAND [OPTIONS]\n\nCommands:\n');
  for (const { name, summary } of COMMANDS) {
    out.write(`  ${styled(out, 'strong', name.padEnd(width))}   ${summary}\n`);
  }
  out.write('\nMore: fleetrelay COMMAND --help, fleetrelay help exit-codes\n');
}

/** What `fleetrelay help exit-codes` prints. */
export function writeExitCodes(out: TextOutput): void {
  out.write('Exit codes of every command:\n\n');
  for (const [code, meaning] of EXIT_CODE_MEANINGS) out.write(`${String(code).padStart(5)}   ${meaning}\n`);
}
