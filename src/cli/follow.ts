import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../model/text/messages.ts';
import { END_MS, type ProcessContext } from './command.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * Shows new and changed rows until a signal stops the process, and names the rows that are gone if they are asked for. Waits while
 * the server does not answer.
 */
export async function follow<Row>(
  context: ProcessContext,
  first: readonly Row[],
  {
    ask,
    nameOf,
    show,
    gone,
  }: {
    readonly ask: () => Promise<readonly Row[]>;
    readonly nameOf: (row: Row) => string;
    readonly show: (rows: readonly Row[]) => void | Promise<void>;
    readonly gone?: (name: string) => void;
  },
): Promise<void> {
  const stopped = context.untilStopped(END_MS);
  let shown = new Map<string, string>();
  let isAway = false;
  let rows = first;
  while (!stopped.aborted) {
    const changed = rows.filter((row) => shown.get(nameOf(row)) !== JSON.stringify(row));
    const now = new Map(rows.map((row) => [nameOf(row), JSON.stringify(row)]));
    for (const name of shown.keys()) if (!now.has(name)) gone?.(name);
    shown = now;
    if (changed.length > 0) await show(changed);
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return;
    try {
      rows = await ask();
      if (isAway) context.stderr.write('the server answers again\n');
      isAway = false;
    } catch (error) {
      if (!isAway) context.stderr.write(`${errorText(error)}; waiting for it\n`);
      isAway = true;
    }
  }
}
