import process from 'node:process';
import type { Played } from './play.ts';

/** The sum of what was played, with a line of progress on the way. */
export interface Tally {
  add(played: Played): void;
  played(): number;
  failed(): number;
  /** The sum as text. */
  sum(): string;
}

/** Between two lines of progress: on a terminal, and where they are kept. */
const SHOWN_MS = 1_000;
const KEPT_MS = 60_000;

export function createTally(expected: number): Tally {
  const began = process.hrtime.bigint();
  const seconds = (): number => Number(process.hrtime.bigint() - began) / 1e9;
  const faults = new Map<string, number>();
  const sum = { seeds: 0, hostile: 0, steps: 0, commits: 0, writes: 0, hours: 0, failed: 0 };
  const { isTTY } = process.stderr;
  let shownAt = 0;

  const show = (): void => {
    const now = seconds();
    if ((now - shownAt) * 1_000 < (isTTY ? SHOWN_MS : KEPT_MS)) return;
    shownAt = now;
    const left = ((expected - sum.seeds) * now) / sum.seeds;
    const line = `${sum.seeds} of ${expected} seeds, ${sum.steps} steps, ${sum.failed} failed, ${Math.ceil(left / 60)} min left`;
    process.stderr.write(isTTY ? `\r${line} ` : `${line}\n`);
  };
  return {
    add: ({ faults: struck, hostile, steps, commits, writes, elapsed, violations }) => {
      for (const [kind, times] of struck) faults.set(kind, (faults.get(kind) ?? 0) + times);
      sum.seeds += 1;
      sum.hostile += hostile === undefined ? 0 : 1;
      sum.steps += steps;
      sum.commits += commits;
      sum.writes += writes;
      sum.hours += elapsed / 3_600_000;
      sum.failed += violations.length > 0 ? 1 : 0;
      show();
    },
    played: () => sum.seeds,
    failed: () => sum.failed,
    sum: () => {
      if (isTTY && shownAt > 0) process.stderr.write('\n');
      const lines = [...faults].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, times]) => `  ${kind}: ${times}`);
      const took = seconds();
      return [
        `${sum.seeds} seeds, ${sum.failed} failed: ${sum.steps} steps in ${took.toFixed(1)} s`,
        `  ${(sum.steps / took).toFixed(0)} steps/s, ${(sum.seeds / took).toFixed(2)} seeds/s, ${sum.hours.toFixed(1)} virtual hours`,
        `  ${sum.hostile} with a hostile agent; ${sum.commits} commits of people, ${sum.writes} writes in clusters, faults:`,
        ...lines,
        '',
      ].join('\n');
    },
  };
}
