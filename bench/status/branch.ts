import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { decoders } from '../../src/domains/decoders.ts';
import { locateHere } from '../../src/manifest/locate.ts';
import { parseSourceName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import type { SourceCondition } from '../../src/ports/source.ts';
import { createLocator, locatedDiagnostics } from '../../src/runtime/api/locator.ts';
import type { SourceState, SourceTable } from '../../src/runtime/source-table.ts';
import { createStatusRenderer } from '../../src/runtime/status/status-renderer.ts';
import { silentSource, type Target, type TargetDeps } from './target.ts';

/** Renders the files of the status branch as the publisher does. A write is a file that the sink is given. */
export function branchTarget({ engine }: TargetDeps): Target {
  const name = must(parseSourceName('main'));
  const source = silentSource(name);
  const condition: SourceCondition = { source: name, state: 'synced', reason: 'Synced', message: '', revision: 'r1' };
  const admitted = { source: name, revision: 'r1', state: 'complete' as const, diagnostics: [] };
  const state: SourceState = { source, condition, admitted, doubtful: [] };
  const sources: SourceTable = {
    start: () => undefined,
    get: () => state,
    all: () => [state],
    allHaveSpoken: () => true,
    isCommitted: () => true,
    allWereRead: () => true,
    revisions: () => [{ source: name, revision: 'r1' }],
    diagnostics: () => [],
    stop: async () => undefined,
  };
  const locator = createLocator({ engine, sources, locate: locateHere(decoders) });
  const renderer = createStatusRenderer({
    engine,
    sources,
    customSources: new Set(),
    observed: { branchRead: () => undefined, written: () => undefined },
    diagnosticsOf: (of) => locatedDiagnostics(engine, locator, of),
    clock: createSystemClock(),
  });
  return {
    source: name,
    path: (at) => `mesh/web-${at}.yaml`,
    write: async () => {
      renderer.note();
      if (!renderer.hasWork()) return 0;
      return (await renderer.render(Date.UTC(2026, 0, 1), true)).size;
    },
    comesBack: async () => 0,
  };
}
