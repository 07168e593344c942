import type { Step } from '../compose/step.ts';
import type { TextOutput } from './command.ts';
import { printable } from './output.ts';
import { styled, type Tone } from './style.ts';

const TONES: Readonly<Record<Step['outcome'], Tone>> = {
  created: 'good',
  changed: 'warn',
  unchanged: 'faint',
  removed: 'warn',
  absent: 'faint',
  left: 'warn',
  failed: 'bad',
};

/** One line for each step, as kubectl would say it. */
export function writeSteps(out: TextOutput, steps: readonly Step[]): void {
  for (const { what, outcome, where, message, dryRun } of steps) {
    const more = message === undefined ? '' : `: ${printable(message)}`;
    const unreal = dryRun === true ? ' (dry run)' : '';
    out.write(`${printable(what)} ${styled(out, TONES[outcome], outcome)}${unreal} in ${printable(where)}${more}\n`);
  }
}
