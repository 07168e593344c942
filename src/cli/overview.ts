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
  for (const [code, meaning] of EXIT_CODE_MEANINGS) {
    const [first = '', ...more] = wrapped(meaning, WIDTH - INDENT);
    out.write(`${String(code).padStart(5)}   ${first}\n`);
    for (const line of more) out.write(`${' '.repeat(INDENT)}${line}\n`);
  }
}

/** In columns: what every terminal has. */
const WIDTH = 80;
const INDENT = 8;

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}
