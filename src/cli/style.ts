import { styleText } from 'node:util';
import type { TextOutput } from './command.ts';

/** What a piece of text tells: colours follow meaning. */
export type Tone = 'good' | 'bad' | 'warn' | 'faint' | 'strong';

const FORMATS = { good: 'green', bad: 'red', warn: 'yellow', faint: 'dim', strong: 'bold' } as const;

/** The text in its tone, if the output shows colours. */
export function styled(out: TextOutput, tone: Tone | undefined, text: string): string {
  return tone === undefined || !out.colour ? text : styleText(FORMATS[tone], text, { validateStream: false });
}

/** Colours are for terminals, and not for people who have said so (https://no-color.org). */
export function wantsColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}
