import type { Act } from '../../api/answer.ts';
import type { SourceView } from '../../api/server-api.ts';
import type { SyncedSourcesView, SyncedSourceView } from '../../api/sync-api.ts';
import { quote } from '../../model/fleet/ids.ts';
import { durableAlready } from '../../model/fleet/receipt.ts';
import type { ServerParts } from '../parts.ts';
import type { SourceState } from '../source-table.ts';
import { sourceView } from './views.ts';

/** The longest wait for a look, in milliseconds: every act is answered within eight seconds. */
const LOOK_MS = 6_000;

/**
 * Looks at one source, or at all (`name` undefined), as a hook does, and answers when the looks have ended and what they found is
 * committed, or after a bounded time. A look changes no record, so the answer is durable.
 */
export async function syncSources(
  { sources, loop, clock, log, suspensions }: Pick<ServerParts, 'sources' | 'loop' | 'clock' | 'log' | 'suspensions'>,
  name: string | undefined,
  by: string,
): Promise<Act<SyncedSourcesView>> {
  const before = sources.all().filter(({ source }) => name === undefined || source.name === name);
  if (before.length === 0) {
    const message = name === undefined ? 'no source is configured' : `there is no source ${quote(name)}`;
    return { ok: false, kind: 'notFound', message };
  }
  log.info('sources are looked at', { sources: before.map(({ source }) => source.name), by });
  const over = new AbortController();
  const late = clock.sleep(LOOK_MS, over.signal).then(
    () => true,
    () => true,
  );
  const looks = before.map(async (state) => {
    const isLate = await Promise.race([(state.source.look?.() ?? Promise.resolve()).then(() => false), late]);
    return { state, isLate };
  });
  try {
    const looked = await Promise.all(looks);
    await loop.settled();
    const now = new Map(sources.all().map((state) => [state.source.name, state]));
    const views = looked.map(({ state, isLate }) => {
      const after = now.get(state.source.name) ?? state;
      return found(state, after, sourceView(after, suspensions), isLate);
    });
    return { ok: true, value: { sources: views }, receipt: durableAlready };
  } finally {
    over.abort();
  }
}

function found(before: SourceState, { condition }: SourceState, now: SourceView, isLate: boolean): SyncedSourceView {
  const was = before.admitted?.revision ?? null;
  // The leader of several servers may still be writing the admission of what was read.
  const revision = now.suspended === null ? (condition.revision ?? now.revision) : now.revision;
  return {
    name: now.name,
    outcome: outcomeOf(now.state, revision !== was, isLate),
    before: was,
    revision,
    refusedRevision: now.refusedRevision,
    message: now.message,
  };
}

function outcomeOf(state: SourceView['state'], isNew: boolean, isLate: boolean): SyncedSourceView['outcome'] {
  if (isNew) return 'new';
  if (isLate) return 'looking';
  switch (state) {
    case 'failing':
      return 'failed';
    case 'refused':
      return 'refused';
    case 'pending':
      return 'looking';
    case 'synced':
      return 'unchanged';
  }
}
